/**
 * Versions by Semantic Versioning 2.0.0 (semver.org §9-11), as in flagd's `sem_ver`: a leading `v` and missing minor and
 * patch numbers are allowed; build metadata does not count. `^` means the same major version, `~` the same major and minor
 * version, in any order. Our own, not the package `semver`: it refuses `1.2`, and a replay years later must decide as today,
 * whatever an update of a package changes. Proven by `test/core/policies/flagd.test.ts`.
 */

export const versionOperators = ['=', '!=', '<', '<=', '>', '>=', '^', '~'] as const;
export type VersionOperator = (typeof versionOperators)[number];

export interface Version {
  readonly numbers: readonly [major: number, minor: number, patch: number];
  /** The identifiers of a pre-release; empty for a release. */
  readonly prerelease: readonly string[];
}

export const versionChars = 256;
const number = '(0|[1-9]\\d{0,14})';
const identifiers = '[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*';
const grammar = new RegExp(
  `^[vV]?${number}(?:\\.${number}(?:\\.${number})?)?(?:-(${identifiers}))?(?:\\+${identifiers})?$`,
);

/** Parses a version; null if it is malformed. Cost: linear; the text has at most 256 characters. */
export function parseVersion(text: string): Version | null {
  const match = text.length > versionChars ? null : grammar.exec(text);
  if (match === null) return null;
  const [, major, minor, patch, suffix] = match;
  const prerelease = suffix?.split('.') ?? [];
  if (prerelease.some((each) => isNumeric(each) && each.length > 1 && each.startsWith('0'))) return null;
  return { numbers: [Number(major), Number(minor ?? 0), Number(patch ?? 0)], prerelease };
}

export function compareVersions(a: Version, op: VersionOperator, b: Version): boolean {
  const sameMajor = a.numbers[0] === b.numbers[0];
  switch (op) {
    case '^':
      return sameMajor;
    case '~':
      return sameMajor && a.numbers[1] === b.numbers[1];
    case '=':
      return precedence(a, b) === 0;
    case '!=':
      return precedence(a, b) !== 0;
    case '<':
      return precedence(a, b) < 0;
    case '<=':
      return precedence(a, b) <= 0;
    case '>':
      return precedence(a, b) > 0;
    case '>=':
      return precedence(a, b) >= 0;
  }
}

const isNumeric = (identifier: string): boolean => /^\d+$/.test(identifier);

/** Returns a number below, equal to or above 0 if a precedes, equals or follows b (§11). */
function precedence(a: Version, b: Version): number {
  for (const at of [0, 1, 2] as const) {
    if (a.numbers[at] !== b.numbers[at]) return a.numbers[at] - b.numbers[at];
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0)
    return b.prerelease.length - a.prerelease.length;
  for (const [at, identifier] of a.prerelease.entries()) {
    const other = b.prerelease[at];
    if (other === undefined) return 1;
    const order = compareIdentifiers(identifier, other);
    if (order !== 0) return order;
  }
  return a.prerelease.length - b.prerelease.length;
}

/** Numbers in numeric order precede texts in ASCII order. */
function compareIdentifiers(a: string, b: string): number {
  if (a === b) return 0;
  if (isNumeric(a) !== isNumeric(b)) return isNumeric(a) ? -1 : 1;
  if (isNumeric(a) && a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}
