/** All about one entry of a timeline: the event, the decision with the clause that decided, the approval. */
import { Principal } from '../approvals/principal.tsx';
import { durationText } from '../../core/duration.ts';
import type { ComponentChildren } from 'preact';
import type { ShownApproval } from '../../contract/approvals.ts';
import type { AuditEvent } from '../../contract/events.ts';
import type { PolicyEvaluationRecord } from '../../contract/governance.ts';
import { decidingPolicies, reviewedPolicies } from '../../core/decided/deciding-policies.ts';
import { linkTo } from '../browser/router.ts';
import { RemoteJson, RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import { partyName, type Entry } from './timeline.ts';

/** `runId`: null where the entry has no run of its own page. */
export const EntryDetails = ({ entry }: { readonly entry: Entry }) => (
  <div class="stack">
    {entry.evaluation !== null && <DecisionDetails evaluation={entry.evaluation} outcome={entry.outcome} />}
    {entry.approval !== null && <ApprovalDetails approval={entry.approval} />}
    {entry.event !== null && <EventDetails event={entry.event} />}
  </div>
);

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);

interface DecisionProps {
  readonly evaluation: PolicyEvaluationRecord;
  /** What the caller acted on: `allow` also where a person approved what the policies escalated. */
  readonly outcome: string | null;
}

function DecisionDetails({ evaluation, outcome }: DecisionProps) {
  const { id, combined, policyCount, evaluatedAt, checkpoint, policySetHash, sequence } = evaluation;
  const policies = decidingPolicies(evaluation);
  const inReview = reviewedPolicies(evaluation);
  return (
    <section class="stack">
      <h2>
        Decision <Status>{combined}</Status>
      </h2>
      {outcome !== null && outcome !== combined && (
        <p>
          The policies said <strong>{combined}</strong>; a person has decided, so the call got{' '}
          <strong>{outcome}</strong>.
        </p>
      )}
      {policies.length === 0 ? (
        <p class="quiet">
          No clause of the {policyCount} evaluated policies matched, so the default decided.
        </p>
      ) : (
        <Clauses policies={policies} />
      )}
      {inReview.length > 0 && (
        <div>
          <h3>Policies in review, not enforced</h3>
          <Clauses policies={inReview} />
        </div>
      )}
      <dl class="facts">
        <Fact name="Evaluation">
          <code>{id}</code>
        </Fact>
        <Fact name="Decided">
          <Time at={evaluatedAt} exact />
        </Fact>
        <Fact name="Leaf">{sequence}</Fact>
        {policySetHash !== null && (
          <Fact name="Policy set">
            <code>{policySetHash}</code>
          </Fact>
        )}
      </dl>
      <details>
        <summary>What the policies saw</summary>
        {checkpoint === null ? <p class="quiet">It was erased.</p> : <RemoteJson value={checkpoint} />}
      </details>
    </section>
  );
}

interface ClausesProps {
  readonly policies: readonly (ReturnType<typeof decidingPolicies>[number] & {
    readonly decision?: string;
  })[];
}

const Clauses = ({ policies }: ClausesProps) => (
  <ul class="clauses">
    {policies.map(({ policyId, version, decision, reasoning }) => (
      <li key={policyId}>
        <a href={linkTo(['policies', policyId], { version })}>
          {policyId} v{version ?? '?'}
        </a>{' '}
        {decision !== undefined && <Status>{decision}</Status>}
        <p class="clause mono">
          <RemoteLine text={reasoning} />
        </p>
      </li>
    ))}
  </ul>
);

function ApprovalDetails({ approval }: { readonly approval: ShownApproval }) {
  const { approvalId, status, reason, comment, used } = approval;
  const { requestedAt, requestedBy, requestedByName, decidedAt, decidedBy, decidedByName } = approval;
  return (
    <section class="stack">
      <h2>
        Approval <Status>{status}</Status>
      </h2>
      <dl class="facts">
        <Fact name="Reason">
          <RemoteLine text={reason} />
        </Fact>
        <Fact name="Requested">
          <Time at={requestedAt} exact /> by <Principal id={requestedBy} name={requestedByName} />
        </Fact>
        {decidedAt !== null && decidedBy !== null && (
          <Fact name="Decided">
            <Time at={decidedAt} exact /> by <Principal id={decidedBy} name={decidedByName} />, after{' '}
            {durationText(Date.parse(decidedAt) - Date.parse(requestedAt))}
          </Fact>
        )}
        {comment !== null && (
          <Fact name="Comment">
            <RemoteLine text={comment} />
          </Fact>
        )}
        <Fact name="Used">{used === null ? 'no call has run by it' : <Time at={used.at} exact />}</Fact>
      </dl>
      <p>
        <a href={linkTo(['approvals', approvalId])}>Open the approval</a>
      </p>
    </section>
  );
}

export function EventDetails({ event }: { readonly event: AuditEvent }) {
  const { eventId, eventType, actor, resource, action, timestamp, serverTimestamp, sequence, leafHash } =
    event;
  const { metadata, causedBy, clientEventId, erased = [] } = event;
  return (
    <section class="stack">
      <h2>
        <RemoteLine text={eventType} />
      </h2>
      <dl class="facts">
        <Fact name="Event">
          <a href={linkTo(['events', eventId])}>
            <code>{eventId}</code>
          </a>
        </Fact>
        <Fact name="Actor">
          <RemoteLine text={partyName(actor) ?? JSON.stringify(actor)} />
        </Fact>
        {resource !== null && (
          <Fact name="Resource">
            <RemoteLine text={partyName(resource) ?? JSON.stringify(resource)} />
          </Fact>
        )}
        <Fact name="Action">
          <RemoteLine text={action} />
        </Fact>
        <Fact name="Happened">
          <Time at={timestamp} exact />
        </Fact>
        <Fact name="Recorded">
          <Time at={serverTimestamp} exact />
        </Fact>
        {clientEventId !== null && (
          <Fact name="Client's id">
            <code>{clientEventId}</code>
          </Fact>
        )}
        {causedBy !== null && causedBy.length > 0 && <Fact name="Caused by">{causedBy.join(', ')}</Fact>}
        <Fact name="Leaf">{sequence}</Fact>
        <Fact name="Leaf hash">
          <code>{leafHash}</code>
        </Fact>
      </dl>
      {erased.length > 0 && (
        <p>
          {erased.length} {erased.length === 1 ? 'value was' : 'values were'} erased. The hashes stay, so
          proofs still hold.
        </p>
      )}
      <div>
        <h3>Metadata</h3>
        <RemoteJson value={metadata} />
      </div>
    </section>
  );
}
