/** The state of an approval as a word. `used`: approved, and a call has run by it. */
import type { ShownApproval } from '../../contract/approvals.ts';
import { Status, toneOf } from '../parts/status.tsx';

export const State = ({
  approval: { status, used },
}: {
  readonly approval: Pick<ShownApproval, 'status' | 'used'>;
}) => <Status tone={toneOf(status)}>{used === null ? status : 'used'}</Status>;
