/**
 * One approval: what will run, why a person is asked, what happened to similar calls, and the decision. Tested by
 * `test/console/approvals.test.ts`.
 */
import { useState } from 'preact/hooks';
import { useLoad } from '../browser/load.ts';
import type { PageProps } from '../browser/page.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import type { ShownApproval } from '../../contract/approvals.ts';
import { durationText } from '../../core/duration.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { NotLoaded } from '../parts/not-loaded.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Time } from '../parts/time.tsx';
import { deciderName, toolName } from './call.ts';
import { Call } from './call-view.tsx';
import { Decide } from './decide.tsx';
import { ApprovalTable } from './list.tsx';
import { everyMs, similarApprovals } from './load.ts';
import { Principal } from './principal.tsx';
import { State } from './state.tsx';

export function ApprovalPage({ params }: PageProps) {
  const { client } = useSession();
  const approvalId = params['approvalId'] ?? '';
  const [seenId, setSeen] = useState<string | null>(null);
  const { data, error, reload } = useLoad(
    async (signal) => (await client.getApproval({ params: { approvalId }, signal })).body,
    approvalId,
    { everyMs },
  );
  if (data === undefined)
    return <NotLoaded title="Approval" up={list} what="the approval" error={error} retry={reload} />;
  return (
    <>
      <PageHead title={<RemoteLine text={toolName(data)} />} up={list}>
        <State approval={data} /> <Standing approval={data} />
      </PageHead>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <div class="two-columns">
        <div class="stack">
          <Call key={approvalId} approval={data} seen={() => setSeen(approvalId)} />
          <Similar approval={data} />
        </div>
        <div class="stack">
          <Decide approval={data} isSeen={seenId === approvalId} decided={reload} />
          <Why approval={data} />
        </div>
      </div>
    </>
  );
}

const list = { name: 'Approvals', path: ['approvals'] } as const;

function Standing({ approval }: { readonly approval: ShownApproval }) {
  const { status, requestedAt, expiresAt, decidedAt, used } = approval;
  if (status === 'pending') {
    return (
      <>
        asked <Time at={requestedAt} />, expires <Time at={expiresAt} ahead />
      </>
    );
  }
  if (decidedAt === null) {
    return (
      <>
        expired <Time at={expiresAt} />
      </>
    );
  }
  return (
    <>
      decided <Time at={decidedAt} /> by <RemoteLine text={deciderName(approval)} />, after{' '}
      {durationText(Date.parse(decidedAt) - Date.parse(requestedAt))}
      {used !== null && (
        <>
          , used <Time at={used.at} />
        </>
      )}
    </>
  );
}

const Why = ({ approval }: { readonly approval: ShownApproval }) => (
  <section class="card" aria-labelledby="why">
    <div class="card-head">
      <h2 id="why">Why a person is asked</h2>
    </div>
    <ul class="stack">
      {approval.policies.map(({ policyId, version, reasoning }) => (
        <li key={policyId}>
          <a href={linkTo(['policies', policyId])}>{policyId}</a>
          {version !== null && <span class="quiet"> version {version}</span>}
          <p>
            <RemoteLine text={reasoning} />
          </p>
        </li>
      ))}
    </ul>
    {approval.policies.length === 0 && <RemoteLine text={approval.reason} />}
    <p class="quiet">
      Asked by key <Principal id={approval.requestedBy} name={approval.requestedByName} />
    </p>
  </section>
);

function Similar({ approval }: { readonly approval: ShownApproval }) {
  const { client } = useSession();
  const { data } = useLoad((signal) => similarApprovals(client, approval, signal), approval.approvalId);
  return (
    <section class="card" aria-labelledby="similar">
      <div class="card-head">
        <h2 id="similar">Earlier calls of this tool</h2>
      </div>
      {data === undefined || data.length === 0 ? (
        <p class="quiet">{data === undefined ? 'Loading…' : 'None was decided before.'}</p>
      ) : (
        <ApprovalTable rows={data} caption="Earlier calls of this tool" />
      )}
    </section>
  );
}
