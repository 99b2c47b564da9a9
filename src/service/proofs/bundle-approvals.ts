/**
 * The leaves of a bundle about signed approvals: with them a reader verifies each signature without the log's word.
 * Proven by `test/service/approvers/bundle.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { type BundleApproval, pathText } from '../../core/proofs/bundle.ts';
import { disclosureText, readDisclosures } from '../../core/events/disclosure.ts';
import { readJson, type JsonObject } from '../../core/json/parse.ts';
import type { Leaf } from '../../store/port/store.ts';
import type { TaskContext } from '../call/work.ts';
import { inclusionAt } from '../log/tree-proofs.ts';

const chunkLeaves = 100;

interface RunBelow {
  readonly projectId: string;
  readonly runId: string;
  readonly treeSize: number;
}

/**
 * In log order; empty where no approval of the run is signed. Disclosed are the signature, the name of its approver, and of
 * the call that asked its tool and the hash of its arguments.
 */
export async function encloseApprovals(context: TaskContext, run: RunBelow): Promise<BundleApproval[]> {
  const { projectId, runId, treeSize } = run;
  const leaves: Leaf[] = [];
  const signers = new Set<string>();
  for await (const leaf of leavesBelow(context, run, { type: 'gov.approval/1', runId })) {
    const { signed, evaluationId } = readJson(leaf.record) as JsonObject & {
      signed?: { approverId: string };
    };
    if (signed === undefined) continue;
    signers.add(signed.approverId);
    const asked = await context.reader.leafOf(projectId, 'gov.evaluation/1', String(evaluationId));
    leaves.push(leaf, ...(asked === null ? [] : [asked]));
  }
  if (signers.size === 0) return [];
  for await (const leaf of leavesBelow(context, run, { type: 'gov.approver/1' }))
    if (signers.has(String((readJson(leaf.record) as JsonObject)['approverId']))) leaves.push(leaf);
  const most = limits.bundleApprovals;
  if (leaves.length > most) {
    const detail = `expected at most ${most} leaves of signed approvals in a bundle, got ${leaves.length}; ask for events=none`;
    throw new GovError('VALIDATION_ERROR', detail);
  }
  leaves.sort((one, other) => one.index - other.index);
  const enclosed: BundleApproval[] = [];
  for (const { index, record, disclosures } of leaves) {
    const inclusion = pathText(await inclusionAt(context.reader, projectId, { index, size: treeSize }));
    enclosed.push({ index, record, inclusion, ...opened(disclosures) });
  }
  return enclosed;
}

async function* leavesBelow(
  { reader, breathe }: TaskContext,
  { projectId, treeSize: beforeIndex }: RunBelow,
  of: { readonly type: 'gov.approval/1' | 'gov.approver/1'; readonly runId?: string },
): AsyncGenerator<Leaf, void, undefined> {
  for (let after: number | undefined; ;) {
    const page = { ...(after === undefined ? {} : { after }), limit: chunkLeaves, order: 'asc' } as const;
    const leaves = await reader.leavesOf(projectId, { ...of, beforeIndex }, page);
    yield* leaves;
    if (leaves.length < chunkLeaves) return;
    after = leaves.at(-1)?.index;
    await breathe();
  }
}

function opened(disclosures: string | null): Pick<BundleApproval, 'disclosures'> {
  if (disclosures === null) return {};
  const all = readDisclosures(disclosures);
  const shown = all.filter(([, pointer]) => /^\/(?:signature(?:\/|$)|name$|call$)/.test(pointer));
  return shown.length === 0 ? {} : { disclosures: shown.map(disclosureText) };
}
