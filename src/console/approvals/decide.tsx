/**
 * The decision on an approval. Tested by `test/console/approvals.test.ts`.
 */
import { useState } from 'preact/hooks';
import { useSession } from '../app/session.tsx';
import type { ApprovalOutcome, ShownApproval } from '../../contract/approvals.ts';
import { limits } from '../../contract/limits.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Text } from '../parts/text.tsx';

interface DecideProps {
  readonly approval: ShownApproval;
  readonly decided: () => void;
}

export function Decide({ approval, decided }: DecideProps) {
  const { can, identity } = useSession();
  if (approval.status !== 'pending') return <Decided approval={approval} />;
  const isAsker = identity.id === approval.requestedBy;
  return (
    <section class="card decide" aria-labelledby="decide">
      <div class="card-head">
        <h2 id="decide">Your decision</h2>
      </div>
      {isAsker && (
        <p>This key asked, so another one has to decide: open the console with the key of an approver.</p>
      )}
      {!isAsker && !can('approvals:decide') && (
        <p>This key may read approvals. To decide, open the console with a key of scope approvals:decide.</p>
      )}
      {!isAsker && can('approvals:decide') && <Form approval={approval} decided={decided} />}
    </section>
  );
}

const Decided = ({ approval: { decidedBy, comment } }: { readonly approval: ShownApproval }) =>
  decidedBy === null ? null : (
    <section class="card" aria-labelledby="decided">
      <div class="card-head">
        <h2 id="decided">Decision</h2>
      </div>
      <dl class="facts">
        <dt>By</dt>
        <dd>{decidedBy}</dd>
        <dt>Comment</dt>
        <dd>{comment === null ? <span class="quiet">none</span> : <Text>{comment}</Text>}</dd>
      </dl>
    </section>
  );

function Form({ approval, decided }: DecideProps) {
  const { client } = useSession();
  const { approvalId } = approval;
  const [comment, setComment] = useState('');
  const [busy, setBusy] = useState<ApprovalOutcome | null>(null);
  const [error, setError] = useState<unknown>(null);
  const decide = async (outcome: ApprovalOutcome): Promise<void> => {
    setBusy(outcome);
    setError(null);
    const given = comment.trim();
    try {
      await client.decideApproval({
        params: { approvalId },
        body: { outcome, ...(given === '' ? {} : { comment: given }) },
      });
      decided();
    } catch (cause) {
      setError(cause);
    } finally {
      setBusy(null);
    }
  };
  return (
    <form class="stack" onSubmit={(event) => event.preventDefault()}>
      <div class="field">
        <label for="comment">Comment</label>
        <textarea
          id="comment"
          rows={3}
          maxLength={limits.reasonChars}
          value={comment}
          onInput={(event) => setComment(event.currentTarget.value)}
        />
        <p class="quiet">It is stored in the log.</p>
      </div>
      <div class="actions">
        <Button
          kind="main"
          isBusy={busy === 'approved'}
          disabled={busy !== null}
          onClick={() => void decide('approved')}
        >
          Approve
        </Button>
        <Button isBusy={busy === 'denied'} disabled={busy !== null} onClick={() => void decide('denied')}>
          Deny
        </Button>
      </div>
      <p class="quiet">The decision rests on this key alone: nobody signs it.</p>
      {error !== null && <ErrorBox error={error} />}
    </form>
  );
}
