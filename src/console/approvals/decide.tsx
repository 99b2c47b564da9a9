/**
 * The decision on an approval, signed by a passkey of the caller where there is one. Tested by
 * `test/console/approvals.test.ts` and `test/console/passkey.test.ts`.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLoad } from '../browser/load.ts';
import { useSession } from '../browser/session.tsx';
import type { ApprovalOutcome, ShownApproval } from '../../contract/approvals.ts';
import type { Approver } from '../../contract/approvers.ts';
import { limits } from '../../contract/limits.ts';
import { visibleLine } from '../../core/visible.ts';
import { useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Principal } from './principal.tsx';
import { hasPasskeys, passkeysNeed } from '../browser/passkey.ts';
import { ownPasskeys, sendDecision } from './passkey.ts';

interface DecideProps {
  readonly approval: ShownApproval;
  /** The person has seen all arguments. */
  readonly isSeen: boolean;
  readonly decided: () => void;
}

export function Decide({ approval, isSeen, decided }: DecideProps) {
  const { can, identity } = useSession();
  const [isOwn, setOwn] = useState(false);
  if (approval.status !== 'pending') return <Decided approval={approval} isOwn={isOwn} />;
  const done = (): void => {
    setOwn(true);
    decided();
  };
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
      {!isAsker && can('approvals:decide') && <Form approval={approval} isSeen={isSeen} decided={done} />}
    </section>
  );
}

const Lines = ({ text }: { readonly text: string }) =>
  text.split('\n').map((line, at) => (
    <div key={at}>
      <RemoteLine text={line} />
    </div>
  ));

interface DecidedProps {
  readonly approval: ShownApproval;
  /** This page decided it: its button had the focus, which the heading gets. */
  readonly isOwn: boolean;
}

function Decided({ approval: { decidedBy, decidedByName, comment, signature }, isOwn }: DecidedProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (isOwn) heading.current?.focus();
  }, [isOwn]);
  if (decidedBy === null) return null;
  return (
    <section class="card" aria-labelledby="decided">
      <div class="card-head">
        <h2 id="decided" ref={heading} tabIndex={-1}>
          Decision
        </h2>
      </div>
      <dl class="facts">
        <dt>By</dt>
        <dd>
          <Principal id={decidedBy} name={decidedByName} />
        </dd>
        <dt>Signed by</dt>
        <dd>
          {signature === null ? (
            'nobody: it rests on the key alone'
          ) : (
            <>
              <RemoteLine text={signature.name} /> <span class="quiet">{signature.fingerprint}</span>
            </>
          )}
        </dd>
        <dt>Comment</dt>
        <dd>{comment === null ? <span class="quiet">none</span> : <Lines text={comment} />}</dd>
      </dl>
    </section>
  );
}

function Form({ approval, isSeen, decided }: DecideProps) {
  const { client, identity } = useSession();
  const { approvalId, signatureRequired } = approval;
  const [comment, setComment] = useState('');
  const [chosen, setChosen] = useState<string | null>(null);
  const [outcome, setOutcome] = useState<ApprovalOutcome>('approved');
  const { isBusy, error, run } = useAction();
  const passkeys = useLoad(
    (signal) => ownPasskeys(client, { principal: identity.id, approval, signal }),
    `passkeys ${approvalId}`,
  );
  const signer = signerOf(passkeys.data ?? [], chosen);
  const decide = (chosenOutcome: ApprovalOutcome): void => {
    setOutcome(chosenOutcome);
    run(async () => {
      await sendDecision(client, { approvalId, outcome: chosenOutcome, comment: comment.trim(), signer });
      decided();
    });
  };
  const isBlocked = isBusy || passkeys.data === undefined;
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
      {passkeys.error !== null && <ErrorBox error={passkeys.error} retry={passkeys.reload} />}
      {passkeys.data !== undefined && (
        <Signing passkeys={passkeys.data} signer={signer} choose={setChosen} isRequired={signatureRequired} />
      )}
      {!isSeen && (
        <p id="unseen" class="quiet">
          Approve opens after you have read the arguments to their end.
        </p>
      )}
      <div class="actions">
        <Button
          kind="main"
          isBusy={isBusy && outcome === 'approved'}
          disabled={isBlocked || !isSeen || (signatureRequired && signer === null)}
          aria-describedby={isSeen ? undefined : 'unseen'}
          onClick={() => decide('approved')}
        >
          Approve
        </Button>
        <Button isBusy={isBusy && outcome === 'denied'} disabled={isBlocked} onClick={() => decide('denied')}>
          Deny
        </Button>
      </div>
      {error !== null && <ErrorBox error={error} />}
    </form>
  );
}

const nobody = 'nobody';

/** The chosen passkey, at first the newest; null for nobody. */
const signerOf = (passkeys: readonly Approver[], chosen: string | null): Approver | null =>
  chosen === nobody
    ? null
    : (passkeys.find(({ approverId }) => approverId === chosen) ?? passkeys[0] ?? null);

interface SigningProps {
  readonly passkeys: readonly Approver[];
  readonly signer: Approver | null;
  readonly choose: (approverId: string) => void;
  readonly isRequired: boolean;
}

/** Says who will sign, or that nobody does. */
function Signing({ passkeys, signer, choose, isRequired }: SigningProps) {
  const without = isRequired
    ? 'The policy accepts an approval only with a signature.'
    : 'Without a passkey the decision rests on this key alone: nobody signs it.';
  if (passkeys.length === 0) {
    return (
      <p class="quiet">
        {without} A passkey signs approvals that are asked for after its enrolment.{' '}
        {hasPasskeys() ? <a href="#/approvers">Enrol a passkey</a> : passkeysNeed}
      </p>
    );
  }
  return (
    <div class="field">
      <label for="signer">Signed by</label>
      <select
        id="signer"
        value={signer?.approverId ?? nobody}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {passkeys.map(({ approverId, name }) => (
          <option key={approverId} value={approverId}>
            passkey {visibleLine(name)}
          </option>
        ))}
        <option value={nobody}>nobody</option>
      </select>
      {signer === null && <p class="quiet">{without}</p>}
    </div>
  );
}
