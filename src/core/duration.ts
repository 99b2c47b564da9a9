/**
 * Durations as people read them, for the console, the command line and its screens. Both round to the nearest unit, so that
 * 24 h that have just begun are `24 h`. Reports have a format of their own, which a verifier repeats (`reports/format.ts`).
 * Tested by `test/core/duration.test.ts`.
 */
const units = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** Below this, hours count: `24 h`, `47 h`, then `2 d`. */
const hoursBelow = 48;

/** Returns `42 s`, `4 min 4 s`, `3 h 10 min`, `2 d 1 h`: at most two units. For a duration between two recorded times. */
export function durationText(ms: number): string {
  const seconds = wholeSeconds(ms);
  const at = units.findIndex(([unit, size]) => seconds >= (unit === 'd' ? hoursBelow * 3600 : size));
  const [unit, size] = units[at] ?? ['s', 1];
  const smaller = units[at + 1];
  if (at < 0 || smaller === undefined) return `${seconds} s`;
  const [smallUnit, smallSize] = smaller;
  const small = Math.round(seconds / smallSize);
  const rest = small % (size / smallSize);
  const whole = `${(small - rest) / (size / smallSize)} ${unit}`;
  return rest === 0 ? whole : `${whole} ${rest} ${smallUnit}`;
}

/** Returns `42 s`, `4 min`, `24 h`, `12 d`: one unit. For an age, or what is left. */
export function aboutDuration(ms: number): string {
  const seconds = wholeSeconds(ms);
  const [minutes, hours] = [Math.round(seconds / 60), Math.round(seconds / 3600)];
  if (seconds < 60) return `${seconds} s`;
  if (minutes < 60) return `${minutes} min`;
  return hours < hoursBelow ? `${hours} h` : `${Math.round(seconds / 86_400)} d`;
}

const wholeSeconds = (ms: number): number => Math.max(0, Math.round(ms / 1000));
