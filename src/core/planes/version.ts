/**
 * Compatibility of data planes and services: a service of minor version N supports planes of minors N-2 to N of its major.
 * Nothing is refused for another version: the service accepts reports and returns the configuration; the response and the
 * health of the plane show the support. A plane accepts no configuration from a service with a greater major.
 * Proven by `test/core/planes/version.test.ts` (a table of versions).
 */
import type { PlaneSupport } from '../../contract/plane-config.ts';

/** Number of earlier minor versions that a service supports. */
const minorsSupported = 2;

interface Release {
  readonly major: number;
  readonly minor: number;
}

/** SemVer 2.0.0; only major and minor count. */
const form = /^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(?:0|[1-9][0-9]{0,5})(?:[-+][0-9A-Za-z.+-]{1,48})?$/;

/** Returns null for an invalid version. Attacker controlled. */
function releaseOf(version: string): Release | null {
  const [, major, minor] = form.exec(version) ?? [];
  return major === undefined || minor === undefined ? null : { major: Number(major), minor: Number(minor) };
}

/** Returns the support of a service for the stated version of a plane. */
export function planeSupport(planeVersion: string | undefined, serviceVersion: string): PlaneSupport {
  const plane = planeVersion === undefined ? null : releaseOf(planeVersion);
  const service = releaseOf(serviceVersion);
  if (plane === null || service === null) return 'unknown';
  if (plane.major !== service.major) return plane.major < service.major ? 'old' : 'newer';
  if (plane.minor > service.minor) return 'newer';
  return plane.minor >= service.minor - minorsSupported ? 'supported' : 'old';
}

/** Returns the oldest plane release that a service supports. */
export function oldestPlane(serviceVersion: string): string {
  const service = releaseOf(serviceVersion);
  if (service === null) throw new Error(`expected a version such as 1.4.0, got ${serviceVersion}`);
  return `${service.major}.${Math.max(0, service.minor - minorsSupported)}.0`;
}

/** Returns whether a service has a greater major than this plane, which then refuses its configuration. */
export function isTooNew(serviceVersion: string, planeVersion: string): boolean {
  const service = releaseOf(serviceVersion);
  const plane = releaseOf(planeVersion);
  return service === null || plane === null || service.major > plane.major;
}
