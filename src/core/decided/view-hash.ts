/**
 * The hash of what an approver sees, which the statement binds (contract O13): SHA-256("gov.approvalview/v2" LF view).
 * Proven by `test/core/decided/view.test.ts`.
 */
import { labelled, sha256Text } from '../hash.ts';
import { membersOf, viewText, type CallView } from './view.ts';

export const shownHash = (shown: CallView): string => sha256Text(`gov.approvalview/v2\n${viewText(shown)}`);

/** The hash in statements without the member `view`: of the canonical JSON, with hidden characters as they are. */
export const firstShownHash = (shown: CallView): string =>
  labelled('gov.approvalview/v1', membersOf(shown)).hash;
