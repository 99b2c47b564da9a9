/**
 * The size of a request in a commit, in UTF-16 units, which approximate bytes.
 * Proven by `test/store/port/request-bytes.test.ts`.
 */
import type { LeafDraft } from '../../core/events/record.ts';
import type { AppendRequest } from './request.ts';
import type { Effect } from './effect.ts';

/** A digest in a record, with its separator. */
const digestBytes = 46;

export const draftBytes = (draft: LeafDraft): number =>
  (draft.kind === 'event' ? draft.head.length + digestBytes * draft.fields + 300 : draft.record.length) +
  (draft.disclosures?.length ?? 0);

/** Counts the effects whose rows can be large without a leaf. */
function effectBytes(effect: Effect): number {
  if (effect.kind === 'saveDocuments') {
    return effect.changes.reduce((sum, made) => sum + ('save' in made ? made.save.data.length : 0) + 200, 0);
  }
  if (effect.kind !== 'saveReport') return 0;
  const { body, challenge } = effect.report;
  return body.length + (challenge?.text.length ?? 0) + 500;
}

export function requestBytes({ leaves, effects = [], toHome = [] }: AppendRequest): number {
  let bytes = 0;
  for (const draft of leaves) bytes += draftBytes(draft);
  for (const effect of effects) bytes += effectBytes(effect);
  for (const draft of toHome) bytes += draftBytes(draft);
  return bytes;
}
