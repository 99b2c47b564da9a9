/**
 * The writes of a store as plain data, so that they can cross to the writing thread. Says what each does in
 * its transaction. A crash before COMMIT leaves nothing of a write; a crash after COMMIT leaves all of it.
 * Proven by `test/store/sqlite/suite.alone.test.ts` and `test/store/sqlite/crash.long.test.ts`.
 */
import type { LeafDraft } from '../../../core/events/record.ts';
import type {
  ApiKeyRow,
  AppendOutcome,
  AppendRequest,
  ClaimedJob,
  CreateOutcome,
  DocumentClaim,
  GraphPart,
  NewTenant,
  StoredDocument,
  TermBlock,
  TermHead,
  Use,
} from '../../port/store.ts';
import type { Project } from '../../port/store.ts';
import { draftBytes, requestBytes } from '../../port/request-bytes.ts';
import { troubleOf } from '../../file/faults.ts';
import type { JobMoves } from '../effects/jobs.ts';
import type { JobFailure } from '../../write/jobs.ts';
import type { CommitSequencer } from './sequencer.ts';
import type { CosignedSize, Note, TaskStatements } from '../effects/tasks.ts';
import type { MapSave } from '../effects/index-map.ts';
import type { TenantTasks } from '../effects/make-tenant.ts';
import { TornWriteError, type Work } from './writer.ts';

interface Lease {
  readonly token: string;
  readonly untilMs: number;
}

/** A project with its number, so that the transaction does not look it up. */
export interface OfProject {
  readonly projectId: string;
  readonly project: number;
}

interface Inputs {
  append: { readonly request: AppendRequest };
  createProject: { readonly project: Project; readonly genesis: LeafDraft };
  createTenant: { readonly tenant: NewTenant };
  claimInstallation: { readonly text: string };
  used: { readonly uses: readonly Use[] };
  stageGraphPart: OfProject & { readonly graphId: string; readonly part: GraphPart };
  saveNote: OfProject & { readonly note: Note };
  saveCosignatures: OfProject & CosignedSize;
  claimJob: { readonly nowMs: number; readonly lease: Lease };
  claimDocument: { readonly claim: DocumentClaim };
  renewJob: OfProject & { readonly jobId: string; readonly lease: Lease };
  failJob: OfProject & { readonly jobId: string; readonly failure: JobFailure };
  saveApiKey: OfProject & { readonly key: ApiKeyRow };
  expireExport: OfProject & { readonly exportId: string; readonly atMs: number };
  markExportRemoved: OfProject & { readonly exportId: string };
  dropPruned: OfProject & { readonly range: { readonly from: number; readonly to: number } };
  saveMap: OfProject & { readonly saving: MapSave };
  dropMap: OfProject;
  saveTermBlock: OfProject & { readonly head: TermHead; readonly terms: readonly TermBlock[] };
  sweepOld: { readonly nowMs: number };
  sweepAnswers: { readonly nowMs: number };
  sweepFacts: { readonly nowMs: number };
}

interface Results extends Record<keyof Inputs, unknown> {
  append: AppendOutcome;
  createProject: void;
  createTenant: CreateOutcome;
  claimInstallation: string;
  used: void;
  stageGraphPart: void;
  saveNote: void;
  saveCosignatures: void;
  claimJob: ClaimedJob | null;
  claimDocument: StoredDocument | null;
  renewJob: boolean;
  failJob: boolean;
  saveApiKey: void;
  expireExport: void;
  markExportRemoved: void;
  dropPruned: void;
  saveMap: void;
  dropMap: void;
  saveTermBlock: boolean;
  sweepOld: void;
  sweepAnswers: boolean;
  sweepFacts: boolean;
}

export type Verb = keyof Inputs;
export type WriteOf<Name extends Verb> = { readonly verb: Name } & Inputs[Name];
export type Write = { [Name in Verb]: WriteOf<Name> }[Verb];
export type ResultOf<Name extends Verb> = Results[Name];

export interface WriteStatements {
  readonly sequencer: CommitSequencer;
  readonly tasks: TaskStatements;
  readonly jobs: JobMoves;
  readonly tenants: TenantTasks;
}

/** Returns the write in the form that `Writer` takes; its result is `ResultOf` its verb. */
export const workOf = (write: Write, statements: WriteStatements): Work<unknown> => ({
  projectId: projectOf(write),
  bytes: bytesOf(write),
  isolated: write.verb === 'append' ? isIsolated(write.request) : write.verb !== 'createTenant',
  run: () => perform(write, statements),
});

function perform(write: Write, statements: WriteStatements): Results[Verb] {
  const { sequencer, tasks, jobs, tenants } = statements;
  switch (write.verb) {
    case 'append':
      return append(write.request, statements);
    case 'createProject':
      tasks.createProject(write.project);
      sequencer.append({ projectId: write.project.projectId, leaves: [write.genesis] });
      return undefined;
    case 'createTenant':
      return createTenant(write.tenant, statements);
    case 'claimInstallation':
      return tenants.claim(write.text);
    case 'used':
      return tenants.used(write.uses);
    case 'stageGraphPart':
      return tasks.stageGraphPart(write.project, write.graphId, write.part);
    case 'saveNote':
      return tasks.saveNote(write.project, write.note);
    case 'saveCosignatures':
      return tasks.saveCosignatures(write.project, write);
    case 'claimJob':
      return jobs.claim(write.nowMs, write.lease);
    case 'claimDocument':
      return tasks.claimDocument(write.claim);
    case 'renewJob':
      return jobs.renew(write.project, write.jobId, write.lease);
    case 'failJob':
      return jobs.fail(write.project, write.jobId, write.failure);
    case 'saveApiKey':
      return tasks.saveApiKey(write.project, write.key);
    case 'expireExport':
      return tasks.expireExport(write.project, write.exportId, write.atMs);
    case 'markExportRemoved':
      return tasks.markExportRemoved(write.project, write.exportId);
    case 'dropPruned':
      return tasks.dropPruned(write.project, write.range);
    case 'saveMap':
      return tasks.saveMap(write.project, write.saving);
    case 'dropMap':
      return tasks.dropMap(write.project);
    case 'saveTermBlock':
      return tasks.saveTermBlock(write.project, write.head, write.terms);
    case 'sweepOld':
      tasks.sweepRequests(write.nowMs);
      return tasks.sweepSessions(write.nowMs);
    case 'sweepAnswers':
      return tasks.sweepAnswers(write.nowMs);
    case 'sweepFacts':
      return tasks.sweepFacts(write.nowMs);
  }
}

/** Appends to the home's log last: only the effects decide which project is the home. */
function append(request: AppendRequest, { sequencer, tenants }: WriteStatements): AppendOutcome {
  const outcome = sequencer.append(request);
  const { projectId, toHome } = request;
  if (toHome === undefined || outcome.outcome !== 'stored') return outcome;
  const home = unlessTorn(() => {
    const beside = tenants.homeBeside(projectId);
    if (beside !== null) sequencer.append({ projectId: beside, leaves: toHome });
    return beside;
  });
  return home === null ? outcome : { ...outcome, home };
}

/** Rethrows as `TornWriteError` any error that does not come from storage. */
function unlessTorn<Value>(write: () => Value): Value {
  try {
    return write();
  } catch (error) {
    throw troubleOf(error) === 'bug'
      ? new TornWriteError('the request failed after it wrote rows', { cause: error })
      : error;
  }
}

/**
 * Creates a tenant. It has no savepoint, because logs of several projects cannot be undone alone. A refusal
 * comes before the first row is written; a later failure fails the whole transaction.
 */
function createTenant(tenant: NewTenant, statements: WriteStatements): CreateOutcome {
  const repeated = repeatedTenant(tenant, statements);
  if (repeated !== null) return repeated;
  statements.tenants.judge(tenant);
  const home = unlessTorn(() => writeTenant(tenant, statements));
  return home === null ? { outcome: 'stored' } : { outcome: 'stored', home };
}

/** The stored response may belong to a project that this write creates; then it cannot exist yet. */
function repeatedTenant(
  { idempotency, projects }: NewTenant,
  { sequencer }: WriteStatements,
): CreateOutcome | null {
  if (idempotency === undefined) return null;
  const own = projects.some(({ stored }) => stored.project.projectId === idempotency.projectId);
  return own ? null : sequencer.repeated(idempotency);
}

/** Returns the home whose log received leaves, or null. */
function writeTenant(tenant: NewTenant, { sequencer, tenants }: WriteStatements): string | null {
  const { idempotency, projects, toHome } = tenant;
  tenants.create(tenant);
  if (idempotency !== undefined)
    sequencer.append({ projectId: idempotency.projectId, leaves: [], idempotency });
  const ids = projects.map(({ stored }) => stored.project.projectId);
  projects.forEach(({ leaves }, at) => sequencer.append({ projectId: ids[at] ?? '', leaves }));
  const home = toHome === undefined ? null : tenants.homeBeside(ids[0] ?? '');
  if (toHome === undefined || home === null || ids.includes(home)) return null;
  sequencer.append({ projectId: home, leaves: toHome });
  return home;
}

/** A request of one event can only be refused before it writes. */
const isIsolated = ({ effects, idempotency, whole, leaves }: AppendRequest): boolean =>
  effects !== undefined || idempotency !== undefined || (whole === true && leaves.length > 1);

/** The project of a write; empty if the write has none, or several. */
export function projectOf(write: Write): string {
  if (write.verb === 'append') return write.request.projectId;
  return 'projectId' in write ? write.projectId : '';
}

/** The size of a write in a commit, in UTF-16 units, which is close to bytes. */
export function bytesOf(write: Write): number {
  switch (write.verb) {
    case 'append':
      return requestBytes(write.request);
    case 'createProject':
      return draftBytes(write.genesis);
    case 'createTenant':
      return tenantBytes(write.tenant);
    case 'stageGraphPart':
      return write.part.items.length;
    case 'saveNote':
      return write.note.note.length;
    case 'saveCosignatures':
      return write.cosignatures.reduce((sum, { line }) => sum + line.length, 0);
    case 'used':
      return write.uses.length * 64;
    case 'saveMap':
      return write.saving.lists.length * 256 + write.saving.map.parts.length;
    case 'saveTermBlock':
      return write.terms.length * 192;
    case 'sweepOld':
    case 'sweepAnswers':
      return 0;
    default:
      return 256;
  }
}

function tenantBytes({ projects, toHome = [] }: NewTenant): number {
  let bytes = toHome.reduce((sum, draft) => sum + draftBytes(draft), 0);
  for (const { leaves, keys } of projects) {
    bytes += 1024 * (1 + keys.length);
    for (const draft of leaves) bytes += draftBytes(draft);
  }
  return bytes;
}
