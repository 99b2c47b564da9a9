/**
 * Answers, bundles and the signature for a report, which runs in a thread that does not sign. Proven by
 * `test/service/reports/worker.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { unverifiedHead } from '../../core/note/checkpoint.ts';
import { signReport } from '../../core/reports/signature.ts';
import type { ReportTaskInput } from '../call/report-work.ts';
import type { TaskHost } from '../call/work.ts';
import { answerFile } from '../completeness/handlers.ts';
import type { Services } from '../port/services.ts';
import { streamedBundle } from '../proofs/bundle-stream.ts';
import { makeBundle } from '../proofs/handlers.ts';

/** Signs what the log says of the report that it makes. The thread gives only the hashes of what it wrote. */
export const reportSigner =
  ({ logSigners }: Pick<Services, 'logSigners'>, input: ReportTaskInput): TaskHost['signReport'] =>
  async (hashes) => {
    const { origin, size, root } = unverifiedHead(input.checkpoint);
    const { executionId, projectId, reportTemplateId } = input;
    const checkpoint = { origin, treeSize: size, rootHash: Buffer.from(root).toString('base64') };
    const signed = { executionId, projectId, reportTemplateId, checkpoint, ...hashes };
    return new TextEncoder().encode(signReport(signed, logSigners(origin)));
  };

const noAnswer: ReadonlySet<string> = new Set(['OVERLOADED', 'UNAVAILABLE']);

export const evidenceHost = (services: Services, projectId: string): Pick<TaskHost, 'answer' | 'bundle'> => {
  let waitSeconds: number = limits.witnessWaitSeconds;
  return {
    /** A report never changes later, so an answer waits for the witnesses; the first that waits in vain is the last to wait. */
    async answer(asked) {
      try {
        const found = await answerFile(services, projectId, asked, waitSeconds);
        if (!found.isCosigned) waitSeconds = 0;
        const { text, count } = found;
        return { bytes: new TextEncoder().encode(text), count };
      } catch (error) {
        if (error instanceof GovError && noAnswer.has(error.code)) return null;
        throw error;
      }
    },

    async bundle({ proofId, most }) {
      const stored = await services.store.proof(projectId, proofId);
      if (stored === null) return null;
      const made = await makeBundle(services, projectId, { stored });
      const size = made instanceof Uint8Array ? made.length : made.bytes;
      if (size > most) return null;
      const parts: Uint8Array[] = [];
      if (made instanceof Uint8Array) parts.push(made);
      else for await (const part of streamedBundle(services, made).chunks()) parts.push(part);
      // a copy: the thread gets the buffer
      return new Uint8Array(Buffer.concat(parts));
    },
  };
};
