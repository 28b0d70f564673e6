// The eye: turns around a point, comes nearer, moves along, and flies to where it is sent.

import { VIEW_ANGLE } from "./scene.js";

const STEEPEST = 1.45;
const NEAREST = 0.08;
const FARTHEST = 9;
/** The distance at which a single node is looked at. */
const CLOSE = 0.7;
const STEP = 0.0058;
/** How the graph is turned at first in 3D. */
export const TURN = { yaw: 0.5, pitch: 0.28 };
const REST = 0.0004;

const ease = (part) => (part < 0.5 ? 4 * part ** 3 : 1 - (2 - 2 * part) ** 3 / 2);

export class Eye {
  constructor(camera, still) {
    this.camera = camera;
    this.still = still;
    this.target = [0, 0, 0];
    this.yaw = TURN.yaw;
    this.pitch = TURN.pitch;
    this.distance = 3;
    this.flat = false;
    this.speed = { yaw: 0, pitch: 0 };
    this.flight = null;
    /** Pixels by which the middle of the picture is moved, for panels that cover the page. */
    this.shift = [0, 0];
  }

  get moving() {
    return Boolean(this.flight) || Math.abs(this.speed.yaw) + Math.abs(this.speed.pitch) > REST;
  }

  /** Directions of the screen in the space of the layout: right and up. */
  axes() {
    const e = this.camera.matrixWorld.elements;
    return [e.slice(0, 3), e.slice(4, 7)];
  }

  /** The size of a pixel at a distance from the eye. */
  pixel(away = this.distance) {
    return (2 * away * Math.tan((VIEW_ANGLE * Math.PI) / 360)) / this.height;
  }

  turn(right, down, carry = false) {
    this.flight = null;
    if (this.flat) return this.slide(right, down);
    this.yaw -= right * STEP;
    this.pitch = Math.max(-STEEPEST, Math.min(STEEPEST, this.pitch + down * STEP));
    this.speed = carry && !this.still ? { yaw: -right * STEP, pitch: down * STEP } : { yaw: 0, pitch: 0 };
  }

  slide(right, down) {
    this.flight = null;
    const [x, y] = this.axes();
    const step = this.pixel();
    this.target = this.target.map((value, at) => value + (-right * x[at] + down * y[at]) * step);
  }

  /** Come nearer to a spot of the screen, given in pixels from the middle; `factor` < 1 is nearer. */
  zoom(factor, right = 0, down = 0) {
    this.flight = null;
    const before = this.distance;
    this.distance = Math.max(NEAREST, Math.min(FARTHEST, before * factor));
    const part = 1 - this.distance / before;
    const [x, y] = this.axes();
    const step = this.pixel(before) * part;
    this.target = this.target.map((value, at) => value + (right * x[at] - down * y[at]) * step);
  }

  /** Fly to a target, a distance, a yaw and a pitch; those that are left out stay. */
  fly(goal, milliseconds = 900) {
    this.speed = { yaw: 0, pitch: 0 };
    if (goal.yaw !== undefined) {
      const turns = Math.round((this.yaw - goal.yaw) / (2 * Math.PI));
      goal = { ...goal, yaw: goal.yaw + turns * 2 * Math.PI };
    }
    const from = { target: this.target, distance: this.distance, yaw: this.yaw, pitch: this.pitch };
    this.flight = { from, to: { ...from, ...goal }, passed: 0, milliseconds: this.still ? 0 : milliseconds };
  }

  /** Let time pass. */
  advance(milliseconds) {
    if (this.flight) {
      const { from, to } = this.flight;
      this.flight.passed += milliseconds;
      const part = this.flight.milliseconds ? Math.min(1, this.flight.passed / this.flight.milliseconds) : 1;
      const share = ease(part);
      const between = (a, b) => a + (b - a) * share;
      this.target = from.target.map((value, at) => between(value, to.target[at]));
      this.distance = Math.exp(between(Math.log(from.distance), Math.log(to.distance)));
      this.yaw = between(from.yaw, to.yaw);
      this.pitch = between(from.pitch, to.pitch);
      if (part === 1) this.flight = null;
    } else if (this.moving && !this.held) {
      const left = Math.exp(-milliseconds / 220);
      this.yaw += this.speed.yaw;
      this.pitch = Math.max(-STEEPEST, Math.min(STEEPEST, this.pitch + this.speed.pitch));
      this.speed = { yaw: this.speed.yaw * left, pitch: this.speed.pitch * left };
    }
  }

  /** Set the camera. */
  aim(width, height) {
    this.height = height;
    const back = backwards(this.yaw, this.pitch);
    const { camera } = this;
    camera.position.set(...this.target.map((value, at) => value + back[at] * this.distance));
    camera.lookAt(...this.target);
    camera.near = Math.max(0.004, this.distance * 0.02);
    camera.far = this.distance + 6;
    camera.setViewOffset(width, height, -this.shift[0], -this.shift[1], width, height);
    camera.updateMatrixWorld();
  }

  /**
   * The target and the distance from which these places fill the free part of the page, which is
   * given in pixels. With `middle` that is the target.
   */
  around(places, { yaw, pitch }, [width, height], middle) {
    const back = backwards(yaw, pitch);
    const right = [Math.cos(yaw), 0, -Math.sin(yaw)];
    const up = cross(back, right);
    const along = places.map((place) => [right, up, back].map((axis) => dot(place, axis)));
    const centre = [0, 1, 2].map((axis) => {
      if (middle) return dot(middle, [right, up, back][axis]);
      const values = along.map((place) => place[axis]);
      return values.length ? (Math.max(...values) + Math.min(...values)) / 2 : 0;
    });
    const half = Math.tan((VIEW_ANGLE * Math.PI) / 360) / this.height;
    const needed = along.map(([x, y, z]) =>
      z - centre[2] + Math.max(Math.abs(x - centre[0]) / (half * Math.max(60, width - 130)), Math.abs(y - centre[1]) / (half * Math.max(60, height - 110))));
    const target = middle ?? [0, 1, 2].map((axis) => right[axis] * centre[0] + up[axis] * centre[1] + back[axis] * centre[2]);
    return { target, distance: Math.min(FARTHEST, Math.max(CLOSE, ...needed)) };
  }
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const backwards = (yaw, pitch) => [Math.sin(yaw) * Math.cos(pitch), Math.sin(pitch), Math.cos(yaw) * Math.cos(pitch)];
