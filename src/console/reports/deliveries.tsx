/** What was sent of the reports, to whom, and why it failed. Tested by `test/console/reports.long.test.ts`. */
import type { Client } from '../../client/create.ts';
import type { Delivery } from '../../contract/report-parts.ts';
import { deliveryStatuses } from '../../contract/report-parts.ts';
import type { PageProps } from '../browser/page.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { useAction, waitFor } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { anyOf, Filters, type Filter } from '../parts/filters.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { ReportTabs } from './tabs.tsx';

const filters: readonly Filter[] = [{ name: 'status', label: 'Status', options: anyOf(deliveryStatuses) }];

type ListedDelivery = Awaited<ReturnType<Client['listReportDeliveries']>>['body']['data'][number];

export function Deliveries({ query }: PageProps) {
  const { client } = useSession();
  const status = deliveryStatuses.find((each) => each === query.get('status'));
  const paged = usePaged({
    key: `deliveries ${status ?? ''}`,
    load: (page, signal) => client.listReportDeliveries({ query: { status, ...page }, signal }),
    idOf: ({ deliveryId }) => deliveryId,
    isBusy: ({ status }) => status === 'processing',
  });
  return (
    <>
      <PageHead title="Deliveries">Reports that were sent by e-mail, by webhook or to a file.</PageHead>
      <ReportTabs current="deliveries" />
      <Filters path={['reports', 'deliveries']} query={query} filters={filters} />
      <PagedTable
        paged={paged}
        noun="deliveries"
        caption="Deliveries"
        empty={
          <Empty title={status === undefined ? 'No deliveries yet' : `No delivery is ${status}`}>
            A schedule sends its reports to the recipients that you name.
          </Empty>
        }
        columns={deliveryColumns<ListedDelivery>(paged.reload, [
          {
            name: 'Report',
            cell: ({ executionId }) => <a href={linkTo(['reports', executionId])}>report</a>,
          },
          { name: 'Requested', cell: ({ createdAt }) => <Time at={createdAt} /> },
        ])}
      />
    </>
  );
}

/** `more`: what follows the recipient. */
export const deliveryColumns = <Row extends Delivery>(
  changed: () => void,
  more: readonly Column<Row>[] = [],
): readonly Column<Row>[] => [
  {
    name: 'Sent to',
    cell: ({ channel, target, format }) => (
      <>
        <span class="target">
          <RemoteLine text={target} />
        </span>
        <div class="quiet small">
          {channel === 'email' ? 'e-mail' : channel}, {format}
        </div>
      </>
    ),
  },
  ...more,
  { name: 'Status', cell: ({ status }) => <Status>{status}</Status> },
  { name: 'Attempts', cell: ({ attempts, maxAttempts }) => `${attempts} of ${maxAttempts}` },
  { name: 'Last attempt', kind: 'wide', cell: (delivery) => <LastAttempt delivery={delivery} /> },
  { name: 'Actions', cell: (delivery) => <Again delivery={delivery} changed={changed} /> },
];

const LastAttempt = ({
  delivery: { lastAttemptAt, lastStatusCode, errorSummary, nextAttemptAt },
}: {
  readonly delivery: Delivery;
}) => (
  <>
    {lastAttemptAt === null ? '–' : <Time at={lastAttemptAt} />}
    {lastStatusCode !== null && <> · answered {lastStatusCode}</>}
    {errorSummary !== null && (
      <div class="small">
        <RemoteLine text={errorSummary} />
      </div>
    )}
    {nextAttemptAt !== null && (
      <div class="quiet small">
        next attempt <Time at={nextAttemptAt} ahead />
      </div>
    )}
  </>
);

/** Asks about the first attempt for some ten seconds; after that the row says what is known. */
const mostAsked = 10;

interface AgainProps {
  readonly delivery: Delivery;
  readonly changed: () => void;
}

function Again({ delivery: { deliveryId, status: last }, changed }: AgainProps) {
  const { client, can } = useSession();
  const { isBusy, error, run } = useAction(changed);
  if (last !== 'failed' || !can('reporting:write')) return null;
  const send = (): void =>
    run(async (signal) => {
      const params = { deliveryId };
      await client.retryReportDelivery({ params, signal });
      let asked = 0;
      await waitFor(async () => (await client.getReportDelivery({ params, signal })).body, {
        isOver: ({ status, attempts }) => (attempts > 0 && status !== 'processing') || ++asked >= mostAsked,
        signal,
      });
    });
  return (
    <div class="row-actions">
      <Button onClick={send} isBusy={isBusy}>
        Send again
      </Button>
      {error !== null && <ErrorBox error={error} />}
    </div>
  );
}
