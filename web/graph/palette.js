// Colours in OKLCH, in which equal steps look equal: one lightness and strength for each theme.

const THEMES = {
  dark: { lightness: 0.76, chroma: 0.135, sway: 0.05 },
  light: { lightness: 0.6, chroma: 0.145, sway: 0.045 },
};

/** Hues in degrees that stay apart for as many groups as a legend can show. */
const HUES = [68, 262, 165, 355, 210, 110, 305, 30, 235, 140, 330, 88, 285, 190, 10, 50];

/** Björn Ottosson's OKLab, as numbers from 0 to 255. */
function oklch(lightness, chroma, hue) {
  const angle = (hue * Math.PI) / 180;
  const [a, b] = [chroma * Math.cos(angle), chroma * Math.sin(angle)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((value) => {
    const shown = value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, shown)));
  });
}

/** The colour of the group with a number; those that the hues do not reach, and none, are grey. */
export function colour(group, theme) {
  const { lightness, chroma, sway } = THEMES[theme];
  if (group < 0) return oklch(theme === "dark" ? 0.68 : 0.62, 0.025, 262);
  const turn = Math.floor(group / HUES.length);
  const side = group % 2 ? 1 : -1;
  return oklch(lightness + sway * side * (1 - turn * 0.4), chroma * (1 - Math.min(turn, 2) * 0.3), HUES[group % HUES.length] + turn * 9);
}

export const css = ([red, green, blue]) => `rgb(${red} ${green} ${blue})`;
