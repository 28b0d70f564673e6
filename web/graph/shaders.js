// Nodes and lines read places and colours from the same textures, by the numbers of nodes.

/** Nodes in a row of the textures. */
export const ROW = 1024;

const SHARED = `
precision highp float;
precision highp int;
uniform sampler2D deep;       // x, y, z and radius of each node in 3D
uniform sampler2D level;      // the same in 2D
uniform sampler2D looks;      // red, green, blue and strength; strength 0 hides
uniform mat4 modelViewMatrix;
uniform mat4 projectionMatrix;
uniform float flatness;       // from 0 (3D) to 1 (2D)
uniform float grown;          // from 0 to 1 while the graph unfolds
uniform vec2 screen;          // in pixels of the drawing buffer
uniform vec3 fog;             // the colour of the distance
uniform vec2 haze;            // distances at which fog begins and is complete

ivec2 cell(int node) { return ivec2(node % ${ROW}, node / ${ROW}); }

vec4 place(int node) {
  vec4 here = mix(texelFetch(deep, cell(node), 0), texelFetch(level, cell(node), 0), flatness);
  float turn = (1.0 - grown) * (1.0 - grown) * 2.4;
  here.xz = mat2(cos(turn), -sin(turn), sin(turn), cos(turn)) * here.xz;
  here.xyz *= grown;
  return here;
}

float dimming(float distance) {
  return (1.0 - flatness) * smoothstep(haze.x, haze.y, distance);
}
`;

export const NODE_VERTEX = `
${SHARED}
in float position;            // the number of the node
uniform float reach;          // the radius of the halo as a multiple of the node's
uniform float marked;         // the number of the node that is open, or -1
out vec3 tint;
out vec2 shape;               // strength, radius in pixels
out float away;
out float ring;
void main() {
  int node = int(position);
  vec4 here = place(node);
  vec4 look = texelFetch(looks, cell(node), 0);
  vec4 seen = modelViewMatrix * vec4(here.xyz, 1.0);
  gl_Position = projectionMatrix * seen;
  if (look.a == 0.0) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); gl_PointSize = 1.0; return; }
  float pixels = max(here.w * projectionMatrix[1][1] * screen.y * 0.5 / gl_Position.w, 1.1);
  gl_PointSize = 2.0 * (pixels * reach + 1.0);
  ring = position == marked ? 1.0 : 0.0;
  tint = look.rgb;
  shape = vec2(look.a, pixels);
  away = dimming(-seen.z);
}`;

export const NODE_FRAGMENT = `
precision highp float;
in vec3 tint;
in vec2 shape;
in float away;
in float ring;
uniform vec3 fog;
uniform vec3 ink;             // the colour of marks
uniform float reach;
uniform float glow;           // the strength of halos
uniform float light;          // 1 in the light theme
out vec4 colour;
void main() {
  vec2 spot = (gl_PointCoord * 2.0 - 1.0) * (reach + 1.0 / shape.y);
  float far = length(spot);
  float edge = 1.0 / shape.y;
  float body = 1.0 - smoothstep(1.0 - edge * 0.5, 1.0 + edge * 0.5, far);
  float strength = shape.x * (1.0 - 0.8 * away);
  if (body > 0.5) {
    vec3 normal = vec3(spot.x, -spot.y, sqrt(max(0.0, 1.0 - dot(spot, spot))));
    float lit = dot(normal, normalize(vec3(-0.45, 0.65, 0.65)));
    float shine = pow(max(0.0, dot(normal, normalize(vec3(-0.3, 0.5, 0.9)))), 28.0);
    float rim = pow(1.0 - normal.z, 3.0);
    vec3 shade = tint * (mix(0.66, 0.84, light) + mix(0.44, 0.22, light) * lit);
    shade += vec3(0.34) * shine + mix(0.22 * tint, -0.10 * tint, light) * rim;
    shade = mix(shade, ink, ring * smoothstep(0.76, 0.82, far) * (1.0 - smoothstep(0.94, 1.0, far)));
    shade = mix(fog, mix(shade, fog, away * 0.82), mix(0.10, 1.0, shape.x));
    colour = vec4(shade, 1.0) * mix(0.55, 1.0, smoothstep(0.0, 0.5, strength));
    gl_FragDepth = gl_FragCoord.z;
    return;
  }
  // A halo is farther than any node, so that it lies behind all of them.
  gl_FragDepth = 1.0;
  float fall = max(0.0, 1.0 - (far - 1.0) / max(reach - 1.0, 0.001));
  float halo = glow * fall * fall * fall * strength * strength;
  vec3 mark = ring * ink * (1.0 - smoothstep(edge, edge * 2.5, abs(far - 1.35))) * step(1.4, reach);
  float smooth_edge = body * strength;
  colour = vec4(tint * halo, halo * light) + vec4(mark, max(max(mark.r, mark.g), mark.b));
  colour = mix(colour, vec4(mix(tint, fog, away * 0.82), 1.0) * 0.9, smooth_edge);
  if (colour.a + colour.r + colour.g + colour.b < 0.004) discard;
}`;

export const LINE_VERTEX = `
${SHARED}
in vec3 ends;                 // the numbers of both nodes, and the width
uniform float strength;
uniform float marked;
uniform float thickness;      // in pixels
out vec4 tint;
out float across;
out float half_width;
void main() {
  // Along the line from 0 to 1, across it from -1 to 1.
  vec2 corner = vec2((gl_VertexID >> 1) & 1, (gl_VertexID & 1) * 2 - 1);
  int first = int(ends.x), second = int(ends.y);
  vec4 from = place(first), to = place(second);
  vec4 look = texelFetch(looks, cell(first), 0), other = texelFetch(looks, cell(second), 0);
  gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  float shown = min(look.a, other.a);
  if (shown == 0.0) return;
  vec3 apart = to.xyz - from.xyz;
  float distance = max(length(apart), 0.0001);
  vec3 along = apart / distance;
  float gap = min(1.0, 0.8 * distance / (from.w + to.w));
  vec3 begin = from.xyz + along * from.w * gap, end = to.xyz - along * to.w * gap;
  vec4 a = modelViewMatrix * vec4(begin, 1.0), b = modelViewMatrix * vec4(end, 1.0);
  // An end behind the eye moves to just before it.
  float near = -0.02;
  if (a.z > near && b.z > near) return;
  if (a.z > near) a = mix(b, a, (near - b.z) / (a.z - b.z));
  if (b.z > near) b = mix(a, b, (near - a.z) / (b.z - a.z));
  vec4 p = projectionMatrix * a, q = projectionMatrix * b;
  vec2 run = (q.xy / q.w - p.xy / p.w) * screen;
  vec2 side = length(run) > 0.0 ? normalize(vec2(-run.y, run.x)) : vec2(0.0);
  bool chosen = marked >= 0.0 && (ends.x == marked || ends.y == marked);
  float wide = thickness * ends.z * (chosen ? 1.7 : 1.0) * mix(1.25, 0.55, corner.x);
  vec4 here = corner.x < 0.5 ? p : q;
  half_width = wide * 0.5;
  across = corner.y * (half_width + 1.0);
  here.xy += side * across * 2.0 / screen * here.w;
  gl_Position = here;
  float away = dimming(corner.x < 0.5 ? -a.z : -b.z);
  float part = chosen ? 0.9 : strength * shown * shown;
  tint = vec4(mix(look.rgb, other.rgb, corner.x), part * (1.0 - 0.85 * away) * mix(1.1, 0.8, corner.x));
}`;

export const LINE_FRAGMENT = `
precision highp float;
in vec4 tint;
in float across;
in float half_width;
out vec4 colour;
void main() {
  float cover = clamp(half_width + 0.5 - abs(across), 0.0, 1.0) * min(1.0, half_width * 2.0);
  float alpha = clamp(tint.a, 0.0, 1.0) * cover;
  colour = vec4(tint.rgb * alpha, alpha);
}`;
