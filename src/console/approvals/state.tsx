/** The state of an approval as a word. `used`: approved, and a call has run by it. */
import type { ShownApproval } from '../../contract/approvals.ts';
import { Status, type Tone } from '../parts/status.tsx';

const tones: Readonly<Record<ShownApproval['status'], Tone>> = {
  pending: 'wait',
  approved: 'good',
  denied: 'bad',
  expired: 'plain',
};

export const State = ({ approval }: { readonly approval: Pick<ShownApproval, 'status' | 'used'> }) => (
  <Status tone={tones[approval.status]}>{approval.used === null ? approval.status : 'used'}</Status>
);
