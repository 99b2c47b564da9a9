/**
 * The first leaf of a project's log (`docs/reference/proof-format.md`). It names the log and the keys that sign
 * it, so that a verifier can check a checkpoint with the first keys of the log. Proven by
 * `test/plane/data/init.test.ts`.
 */
import { draftLeaf, type LeafDraft } from '../../core/events/record.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Project } from '../../store/port/store.ts';
import type { HostKeys } from './disk.ts';

export const genesisLeaf = (project: Project, keys: HostKeys, nowMs: number): LeafDraft =>
  draftLeaf('gov.genesis/1', {
    origin: project.auditOrigin,
    meteringOrigin: project.meteringOrigin,
    projectId: project.projectId,
    organizationId: project.organizationId,
    environment: project.environment,
    keys: keys.signers(project.auditOrigin).map(({ verifierKey }) => verifierKey),
    attestationKey: keys.attestationKey,
    createdAt: formatTimestamp(nowMs),
  });
