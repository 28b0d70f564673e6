// Draws the graph in two calls a frame: all nodes as one point cloud, all links as one mesh.

import {
  BufferAttribute,
  BufferGeometry,
  CustomBlending,
  DataTexture,
  DoubleSide,
  FloatType,
  GLSL3,
  Mesh,
  NearestFilter,
  OneFactor,
  OneMinusSrcAlphaFactor,
  PerspectiveCamera,
  Points,
  RawShaderMaterial,
  RGBAFormat,
  Scene as Space,
  UnsignedByteType,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import { LINE_FRAGMENT, LINE_VERTEX, NODE_FRAGMENT, NODE_VERTEX, ROW } from "./shaders.js";

export const VIEW_ANGLE = 42;

/** Pixels of the drawing buffer at most: beyond them a frame takes longer than it looks better. */
const MOST_PIXELS = 8_000_000;

export class Scene {
  /** Raises an error where the browser has no WebGL 2. */
  constructor(canvas, graph) {
    this.graph = graph;
    this.renderer = new WebGLRenderer({ canvas, alpha: true, antialias: false, powerPreference: "high-performance" });
    this.renderer.setClearColor(0, 0);
    this.renderer.sortObjects = false;
    this.camera = new PerspectiveCamera(VIEW_ANGLE, 1, 0.01, 40);
    this.space = new Space();
    this.space.matrixWorldAutoUpdate = false;
    const rows = Math.max(1, Math.ceil(graph.nodes.length / ROW));
    this.deep = new Float32Array(rows * ROW * 4);
    this.level = new Float32Array(rows * ROW * 4);
    this.looks = new Uint8Array(rows * ROW * 4);
    this.textures = {
      deep: texture(this.deep, rows, FloatType),
      level: texture(this.level, rows, FloatType),
      looks: texture(this.looks, rows, UnsignedByteType),
    };
    this.place();
    this.uniforms = {
      deep: { value: this.textures.deep },
      level: { value: this.textures.level },
      looks: { value: this.textures.looks },
      flatness: { value: 0 },
      grown: { value: 1 },
      screen: { value: new Vector2(1, 1) },
      fog: { value: new Vector3() },
      haze: { value: new Vector2(1, 4) },
      ink: { value: new Vector3() },
      reach: { value: 3.2 },
      glow: { value: 0.5 },
      light: { value: 0 },
      marked: { value: -1 },
      strength: { value: 0.5 },
      thickness: { value: 1 },
    };
    this.space.add(this.nodes(), this.lines());
    this.ratio = 1;
  }

  /** Put places and sizes of nodes into the buffers. Nodes grow with the root of their links. */
  place() {
    const { nodes } = this.graph;
    const most = nodes.length ? nodes[this.graph.order[0]].degree : 1;
    const room = 0.38 / Math.sqrt(Math.max(nodes.length, 36));
    nodes.forEach((node, at) => {
      const radius = room * (0.26 + 1.0 * Math.sqrt(node.degree / Math.max(most, 6)));
      this.deep.set([...node.spot, radius], at * 4);
      this.level.set([...node.flat, 0, radius * 1.05], at * 4);
    });
  }

  nodes() {
    const geometry = new BufferGeometry();
    const numbers = Float32Array.from(this.graph.nodes, (_, at) => at);
    geometry.setAttribute("position", new BufferAttribute(numbers, 1));
    const points = new Points(geometry, this.material(NODE_VERTEX, NODE_FRAGMENT, true));
    points.frustumCulled = false;
    return points;
  }

  /** Four corners for each link: a software renderer draws instances of one shape one by one. */
  lines() {
    const { edges } = this.graph;
    const ends = new Float32Array(edges.length * 12);
    const corners = new Uint32Array(edges.length * 6);
    edges.forEach((edge, at) => {
      const end = [edge.from, edge.to, Math.min(3, Math.max(0.5, Math.sqrt(edge.weight)))];
      ends.set([...end, ...end, ...end, ...end], at * 12);
      corners.set([0, 1, 2, 2, 1, 3].map((corner) => at * 4 + corner), at * 6);
    });
    const geometry = new BufferGeometry();
    geometry.setAttribute("ends", new BufferAttribute(ends, 3));
    geometry.setIndex(new BufferAttribute(corners, 1));
    const mesh = new Mesh(geometry, this.material(LINE_VERTEX, LINE_FRAGMENT, false));
    mesh.frustumCulled = false;
    mesh.visible = edges.length > 0;
    return mesh;
  }

  material(vertexShader, fragmentShader, depthWrite) {
    return new RawShaderMaterial({
      glslVersion: GLSL3,
      vertexShader,
      fragmentShader,
      uniforms: this.uniforms,
      depthWrite,
      transparent: true,
      side: DoubleSide,
      premultipliedAlpha: true,
      blending: CustomBlending,
      blendSrc: OneFactor,
      blendDst: OneMinusSrcAlphaFactor,
    });
  }

  /** The place of a node now, in the units of the layout. */
  at(node) {
    const { flatness } = this.uniforms;
    return [0, 1, 2].map((axis) => {
      const [from, to] = [this.deep[node * 4 + axis], this.level[node * 4 + axis]];
      return from + (to - from) * flatness.value;
    });
  }

  /** Move nodes by a step, in the buffer that is looked at. */
  shift(nodes, step) {
    const flat = this.uniforms.flatness.value > 0.5;
    const buffer = flat ? this.level : this.deep;
    for (const [node, share] of nodes)
      for (let axis = 0; axis < 3; axis++) buffer[node * 4 + axis] += step[axis] * share;
    this.textures[flat ? "level" : "deep"].needsUpdate = true;
  }

  /** Colours, and a strength from 0 (hidden) to 255, of each node: `paint(at)` returns all four. */
  paint(look) {
    for (let at = 0; at < this.graph.nodes.length; at++) this.looks.set(look(at), at * 4);
    this.textures.looks.needsUpdate = true;
  }

  theme({ fog, ink, glow, light, strength }) {
    const few = Math.min(1, (600 / Math.max(1, this.graph.edges.length)) ** 0.42);
    this.uniforms.fog.value.fromArray(fog.map((value) => value / 255));
    this.uniforms.ink.value.fromArray(ink.map((value) => value / 255));
    this.uniforms.glow.value = glow;
    this.uniforms.light.value = light;
    this.uniforms.strength.value = strength * (0.25 + 0.75 * few);
  }

  /** The size on the screen. `ratio` is the number of pixels drawn for each pixel of the page. */
  resize(width, height, ratio) {
    const bounded = Math.min(ratio, Math.sqrt(MOST_PIXELS / Math.max(1, width * height)));
    this.ratio = bounded;
    this.width = width;
    this.height = height;
    this.renderer.setPixelRatio(bounded);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(1, height);
    this.uniforms.screen.value.set(width * bounded, height * bounded);
    this.uniforms.thickness.value = Math.max(1, bounded) * 1.15;
  }

  draw() {
    this.renderer.render(this.space, this.camera);
    return this.renderer.info.render.calls;
  }

  /** Where each node is on the screen: x, y, radius in pixels and distance; radius 0 if hidden. */
  project() {
    const count = this.graph.nodes.length;
    this.spots ??= new Float32Array(count * 4);
    const view = this.camera.matrixWorldInverse.elements;
    const lens = this.camera.projectionMatrix.elements;
    const flat = this.uniforms.flatness.value;
    for (let at = 0, k = 0; at < count; at++, k += 4) {
      const x = this.deep[k] + (this.level[k] - this.deep[k]) * flat;
      const y = this.deep[k + 1] + (this.level[k + 1] - this.deep[k + 1]) * flat;
      const z = this.deep[k + 2] * (1 - flat);
      const away = -(view[2] * x + view[6] * y + view[10] * z + view[14]);
      if (away < 0.02 || !this.looks[k + 3]) {
        this.spots[k + 2] = 0;
        continue;
      }
      const right = view[0] * x + view[4] * y + view[8] * z + view[12];
      const up = view[1] * x + view[5] * y + view[9] * z + view[13];
      this.spots[k] = ((lens[0] * right - lens[8] * away) / away / 2 + 0.5) * this.width;
      this.spots[k + 1] = (0.5 - (lens[5] * up - lens[9] * away) / away / 2) * this.height;
      this.spots[k + 2] = Math.max(1.1, (this.deep[k + 3] * lens[5] * this.height) / 2 / away);
      this.spots[k + 3] = away;
    }
    return this.spots;
  }

  dispose() {
    for (const each of Object.values(this.textures)) each.dispose();
    for (const shape of this.space.children) {
      shape.geometry.dispose();
      shape.material.dispose();
    }
    this.renderer.dispose();
  }
}

function texture(data, rows, type) {
  const made = new DataTexture(data, ROW, rows, RGBAFormat, type);
  made.minFilter = made.magFilter = NearestFilter;
  made.needsUpdate = true;
  return made;
}
