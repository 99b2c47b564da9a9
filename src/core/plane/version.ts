/**
 * Which releases of data planes and of the service go together: a service of minor N is made to work with planes of
 * minors N-2 to N of its major, whatever their patch. Nothing is refused for that: reports are taken and the
 * configuration is given; the answer says it, and the plane's health shows it. A plane takes no configuration of a
 * service with a greater major. Proven by `test/core/plane/version.test.ts` (a table of versions).
 */
import type { PlaneSupport } from '../../contract/plane-config.ts';

/** How many minors back. */
export const minorsSupported = 2;

interface Release {
  readonly major: number;
  readonly minor: number;
}

/** SemVer 2.0.0, of which only major and minor count. */
const form = /^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(?:0|[1-9][0-9]{0,5})(?:[-+][0-9A-Za-z.+-]{1,48})?$/;

/** Null for what is no version. The text may be an attacker's. */
function releaseOf(version: string): Release | null {
  const [, major, minor] = form.exec(version) ?? [];
  return major === undefined || minor === undefined ? null : { major: Number(major), minor: Number(minor) };
}

/** What a service thinks of the version that a plane says it is. */
export function planeSupport(planeVersion: string | undefined, serviceVersion: string): PlaneSupport {
  const plane = planeVersion === undefined ? null : releaseOf(planeVersion);
  const service = releaseOf(serviceVersion);
  if (plane === null || service === null) return 'unknown';
  if (plane.major !== service.major) return plane.major < service.major ? 'old' : 'newer';
  if (plane.minor > service.minor) return 'newer';
  return plane.minor >= service.minor - minorsSupported ? 'supported' : 'old';
}

/** The oldest release of planes that a service is made to work with. */
export function oldestPlane(serviceVersion: string): string {
  const service = releaseOf(serviceVersion);
  if (service === null) throw new Error(`expected a version such as 1.4.0, got ${serviceVersion}`);
  return `${service.major}.${Math.max(0, service.minor - minorsSupported)}.0`;
}

/** Whether a service is of a greater major than this plane: what it gives is not taken then. */
export function isTooNew(serviceVersion: string, planeVersion: string): boolean {
  const service = releaseOf(serviceVersion);
  const plane = releaseOf(planeVersion);
  return service === null || plane === null || service.major > plane.major;
}
