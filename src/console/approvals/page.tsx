/**
 * One approval: what will run, why a person is asked, what happened to similar calls, and the decision. Tested by
 * `test/console/approvals.test.ts`.
 */
import { useLoad } from '../app/load.ts';
import type { PageProps } from '../app/page.ts';
import { linkTo } from '../app/router.ts';
import { useSession } from '../app/session.tsx';
import type { ShownApproval } from '../../contract/approvals.ts';
import { counted } from '../parts/counted.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteJson, RemoteLine } from '../parts/remote-text.tsx';
import { Time } from '../parts/time.tsx';
import { actorName, leavesOf, toolName } from './call.ts';
import { Decide } from './decide.tsx';
import { ApprovalTable } from './list.tsx';
import { everyMs, similarApprovals } from './load.ts';
import { State } from './state.tsx';

export function ApprovalPage({ params }: PageProps) {
  const { client } = useSession();
  const approvalId = params['approvalId'] ?? '';
  const { data, error, reload } = useLoad(
    async (signal) => (await client.getApproval({ params: { approvalId }, signal })).body,
    approvalId,
    { everyMs },
  );
  if (data === undefined) {
    return (
      <>
        <PageHead title="Approval" up={list} />
        {error === null ? <Loading what="the approval" /> : <ErrorBox error={error} retry={reload} />}
      </>
    );
  }
  return (
    <>
      <PageHead title={<RemoteLine text={toolName(data)} />} up={list}>
        <State approval={data} /> <Standing approval={data} />
      </PageHead>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <div class="two-columns">
        <div class="stack">
          <Call approval={data} />
          <Similar approval={data} />
        </div>
        <div class="stack">
          <Decide approval={data} decided={reload} />
          <Why approval={data} />
        </div>
      </div>
    </>
  );
}

const list = { name: 'Approvals', path: ['approvals'] } as const;

function Standing({ approval }: { readonly approval: ShownApproval }) {
  const { status, requestedAt, expiresAt, decidedAt, decidedBy, used } = approval;
  if (status === 'pending') {
    return (
      <>
        asked <Time at={requestedAt} />, expires <Time at={expiresAt} />
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
      decided <Time at={decidedAt} /> by {decidedBy}
      {used !== null && (
        <>
          , used <Time at={used.at} />
        </>
      )}
    </>
  );
}

function Call({ approval }: { readonly approval: ShownApproval }) {
  const { actor, arguments: given, tool, runId } = approval;
  const found = given === null ? null : leavesOf(given);
  return (
    <section class="card" aria-labelledby="call">
      <div class="card-head">
        <h2 id="call">What will run</h2>
      </div>
      <p class="lead">
        <RemoteLine text={actorName(actor) ?? 'An agent'} /> wants to call{' '}
        <strong>
          <RemoteLine text={toolName(approval)} />
        </strong>
        {given !== null && Object.keys(given).length === 0 && ' without arguments'}.
      </p>
      {given === null && tool !== null && <p class="quiet">The arguments were erased.</p>}
      {found !== null && found.leaves.length > 0 && (
        <dl class="facts arguments">
          {found.leaves.map(({ path, text, cut }) => (
            <div key={path}>
              <dt>
                <RemoteLine text={path} />
              </dt>
              <dd>
                <RemoteLine text={text} />
                {cut > 0 && <span class="quiet"> … {counted(cut, 'more character')}</span>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {found !== null && found.more > 0 && (
        <p class="quiet">{counted(found.more, 'more value')} below, in full.</p>
      )}
      {given !== null && (
        <details>
          <summary>Arguments in full</summary>
          <RemoteJson value={given} label="Arguments in full" whole />
        </details>
      )}
      {approval.context !== null && (
        <details>
          <summary>What else the policies saw</summary>
          <RemoteJson value={approval.context} label="Context" whole />
        </details>
      )}
      <p class="quiet">
        In run <a href={linkTo(['runs', runId])}>{runId}</a>
      </p>
    </section>
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
    <p class="quiet">Asked by key {approval.requestedBy}</p>
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
