/** Approvers: the next commits fill this file. */
import { GovError } from '../../contract/problems.ts';
import type { Handlers } from '../call/handler.ts';

const missing = (): never => {
  throw new GovError('INTERNAL', 'expected the handlers of approvers, which this build does not have yet');
};

export const approvers: Pick<
  Handlers,
  'listApprovers' | 'getApprover' | 'challengeApprover' | 'enrolApprover' | 'revokeApprover' | 'stateApproval'
> = {
  listApprovers: async () => missing(),
  getApprover: async () => missing(),
  challengeApprover: async () => missing(),
  enrolApprover: async () => missing(),
  revokeApprover: async () => missing(),
  stateApproval: async () => missing(),
};
