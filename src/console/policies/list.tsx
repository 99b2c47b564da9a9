/** The policies of the project. Tested by `test/console/policies.test.ts`. */
import type { Policy } from '../../contract/policies.ts';
import { policyStatuses, type PolicyStatus } from '../../contract/policy-words.ts';
import type { PageProps } from '../browser/page.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { Empty } from '../parts/empty.tsx';
import { anyOf, Filters, type Filter } from '../parts/filters.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

const filters: readonly Filter[] = [{ name: 'status', label: 'Status', options: anyOf(policyStatuses) }];

export function Policies({ query }: PageProps) {
  const { client } = useSession();
  const status = policyStatuses.find((each): each is PolicyStatus => each === query.get('status'));
  const paged = usePaged({
    key: `policies ${status ?? ''}`,
    load: (page, signal) => client.listPolicies({ query: { status, ...page }, signal }),
    idOf: ({ id }) => id,
  });
  return (
    <>
      <PageHead title="Policies">What agents may do.</PageHead>
      <Filters path={['policies']} query={query} filters={filters} />
      <PagedTable
        paged={paged}
        noun="policies"
        caption="Policies"
        columns={columns}
        empty={
          <Empty title={status === undefined ? 'No policies yet' : `No policy is ${status}`}>
            Policies are files: <code>gov policy create FILE</code> adds one as a draft.
          </Empty>
        }
      />
    </>
  );
}

const columns: readonly Column<Policy>[] = [
  {
    name: 'Policy',
    kind: 'wide',
    cell: ({ id, name }) => (
      <>
        <a href={linkTo(['policies', id])}>{id}</a>
        {name !== id && (
          <div class="quiet small">
            <RemoteLine text={name} />
          </div>
        )}
      </>
    ),
  },
  { name: 'Status', cell: ({ status }) => <Status>{status}</Status> },
  { name: 'Does', cell: ({ active, latest }) => (active ?? latest).action },
  {
    name: 'In force',
    cell: ({ status, activeVersion }) => (status === 'active' ? `v${activeVersion}` : '–'),
  },
  {
    name: 'Newest',
    cell: ({ latestVersion, activeVersion, status }) =>
      latestVersion === activeVersion ? (
        `v${latestVersion}`
      ) : (
        <>
          v{latestVersion}
          {status === 'active' && <span class="quiet"> not published</span>}
        </>
      ),
  },
  { name: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
];
