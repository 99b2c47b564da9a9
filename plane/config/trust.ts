/**
 * The service whose configurations a plane takes. Proven by `test/plane/config/apply.test.ts` and
 * `test/plane/config/sync.test.ts`.
 */
import type { PlaneConfigTrust } from '../../src/core/planes/config.ts';
import { parseVerifierKey } from '../../src/core/note/signed.ts';
import type { PlaneSync } from '../../src/host/data/config.ts';
import { readEnrolment, type Enrolment } from '../service/enrolment.ts';

/** The trust from `plane.json`, else from the enrolment. Null where neither names a service. */
export function trustOf(
  dataDir: string,
  sync: PlaneSync,
  environment: Enrolment['environment'],
): PlaneConfigTrust | null {
  const enrolment = readEnrolment(dataDir);
  const projectId = sync.projectId ?? enrolment?.projectId;
  const known = enrolment === null || enrolment.configKey === null ? [] : [enrolment.configKey];
  const keys = sync.keys ?? known;
  if (projectId === undefined || keys.length === 0) return null;
  return {
    projectId,
    environment: sync.projectId === undefined ? (enrolment?.environment ?? environment) : environment,
    keys: keys.map(parseVerifierKey),
  };
}
