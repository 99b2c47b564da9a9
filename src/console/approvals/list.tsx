/** The approvals: those that wait, oldest first, and those that ended. Tested by `test/console/approvals.test.ts`. */
import { useLoad } from '../browser/load.ts';
import type { PageProps } from '../browser/page.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import type { ApprovalFilter, ShownApproval } from '../../contract/approvals.ts';
import { hiddenSummary } from '../../core/hidden-text.ts';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Time } from '../parts/time.tsx';
import { actorName, leavesOf, toolName } from './call.ts';
import { endedApprovals, everyMs, waitingApprovals } from './load.ts';
import { State } from './state.tsx';

const filters = [
  ['pending', 'Waiting'],
  ['approved', 'Approved'],
  ['denied', 'Denied'],
  ['expired', 'Expired'],
  ['used', 'Used'],
] as const satisfies readonly (readonly [ApprovalFilter, string])[];

export function Approvals({ query }: PageProps) {
  const { client } = useSession();
  const status = filters.find(([name]) => name === query.get('status'))?.[0] ?? 'pending';
  const { data, error, reload } = useLoad(
    (signal) =>
      status === 'pending' ? waitingApprovals(client, signal) : endedApprovals(client, status, signal),
    `approvals ${status}`,
    { everyMs },
  );
  return (
    <>
      <PageHead
        title="Approvals"
        actions={
          <a class="button" href="#/approvers">
            Approvers
          </a>
        }
      >
        Calls that a policy escalated to a person.
      </PageHead>
      <Tabs
        label="State"
        tabs={filters.map(([name, title]) => ({
          title,
          address: linkTo(['approvals'], name === 'pending' ? {} : { status: name }),
          isCurrent: name === status,
        }))}
      />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {data === undefined && error === null && <Loading what="the approvals" />}
      {data !== undefined && <ApprovalTable rows={data} caption={`Approvals, ${status}`} />}
      {data?.length === 0 && (
        <Empty title={status === 'pending' ? 'Nothing waits for you' : 'No approval has this state'}>
          {status === 'pending' && 'A new approval appears here by itself.'}
        </Empty>
      )}
    </>
  );
}

const columns: readonly Column<ShownApproval>[] = [
  {
    name: 'Call',
    kind: 'wide',
    cell: (approval) => (
      <>
        <a class="strong" href={linkTo(['approvals', approval.approvalId])}>
          <RemoteLine text={toolName(approval)} />
        </a>
        <p class="quiet clip">
          <Hidden approval={approval} />
          <RemoteLine text={shortCall(approval)} />
        </p>
      </>
    ),
  },
  {
    name: 'Who',
    cell: ({ actor, requestedBy, requestedByName }) => (
      <RemoteLine text={actorName(actor) ?? requestedByName ?? requestedBy} />
    ),
  },
  { name: 'State', cell: (approval) => <State approval={approval} /> },
  { name: 'Asked', cell: ({ requestedAt }) => <Time at={requestedAt} /> },
];

function Hidden({ approval }: { readonly approval: ShownApproval }) {
  const hidden = hiddenSummary(approval);
  return hidden === null ? null : <strong class="hidden-count">{hidden} · </strong>;
}

/** `amount: 5, customer: "Ada"`, on one line that the style cuts. */
const shortCall = ({ arguments: given, reason }: ShownApproval): string =>
  given === null
    ? reason
    : leavesOf(given)
        .leaves.slice(0, 4)
        .map(({ path, text }) => `${path}: ${text}`)
        .join(', ');

export const ApprovalTable = ({
  rows,
  caption,
}: {
  readonly rows: readonly ShownApproval[];
  readonly caption: string;
}) =>
  rows.length === 0 ? null : (
    <Table caption={caption} columns={columns} rows={rows} keyOf={({ approvalId }) => approvalId} />
  );
