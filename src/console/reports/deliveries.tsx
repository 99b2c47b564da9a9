/** What was sent of the reports, to whom, and why it failed. Tested by `test/console/reports.long.test.ts`. */
import type { Delivery } from '../../contract/report-parts.ts';
import { deliveryStatuses } from '../../contract/report-parts.ts';
import type { PageProps } from '../browser/page.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { useAction, waitFor } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Filters, type Filter } from '../parts/filters.tsx';
import { Loading } from '../parts/loading.tsx';
import { PagedFoot, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { toneOf } from '../runs/words.ts';
import { ReportTabs } from './tabs.tsx';

const perPage = 50;

const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'Status',
    options: [
      { value: '', text: 'Any' },
      ...deliveryStatuses.map((status) => ({ value: status, text: status })),
    ],
  },
];

export function Deliveries({ query }: PageProps) {
  const { client } = useSession();
  const status = deliveryStatuses.find((each) => each === query.get('status'));
  const paged = usePaged({
    key: `deliveries ${status ?? ''}`,
    load: async (cursor, signal) =>
      (await client.listReportDeliveries({ query: { status, limit: perPage, cursor }, signal })).body,
    idOf: ({ deliveryId }) => deliveryId,
    isBusy: ({ status }) => status === 'processing',
  });
  const { rows } = paged;
  return (
    <>
      <PageHead title="Deliveries">Reports that were sent by e-mail, by webhook or to a file.</PageHead>
      <ReportTabs current="deliveries" />
      <Filters path={['reports', 'deliveries']} query={query} filters={filters} />
      {rows === undefined && paged.isLoading && <Loading what="the deliveries" />}
      {rows?.length === 0 && (
        <Empty title={status === undefined ? 'No deliveries yet' : `No delivery is ${status}`}>
          A schedule sends its reports to the recipients that you name.
        </Empty>
      )}
      {rows !== undefined && rows.length > 0 && (
        <DeliveryTable
          rows={rows}
          changed={paged.reload}
          more={[
            {
              name: 'Report',
              cell: ({ executionId }) => <a href={linkTo(['reports', executionId])}>report</a>,
            },
            { name: 'Requested', cell: ({ createdAt }) => <Time at={createdAt} /> },
          ]}
        />
      )}
      <PagedFoot paged={paged} noun="deliveries" />
    </>
  );
}

interface DeliveryTableProps<Row> {
  readonly rows: readonly Row[];
  readonly more?: readonly Column<Row>[];
  readonly changed: () => void;
}

export function DeliveryTable<Row extends Delivery>({ rows, more = [], changed }: DeliveryTableProps<Row>) {
  const { can } = useSession();
  return (
    <Table
      caption="Deliveries"
      rows={rows}
      keyOf={({ deliveryId }) => deliveryId}
      columns={[
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
        { name: 'Status', cell: ({ status }) => <Status tone={toneOf(status)}>{status}</Status> },
        { name: 'Attempts', cell: ({ attempts, maxAttempts }) => `${attempts} of ${maxAttempts}` },
        { name: 'Last attempt', kind: 'wide', cell: (delivery) => <LastAttempt delivery={delivery} /> },
        {
          name: 'Actions',
          cell: (delivery) =>
            can('reporting:write') &&
            delivery.status === 'failed' && <Again delivery={delivery} changed={changed} />,
        },
      ]}
    />
  );
}

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

function Again({ delivery: { deliveryId }, changed }: AgainProps) {
  const { client } = useSession();
  const { isBusy, error, run } = useAction();
  const send = (): void =>
    run(async (signal) => {
      const params = { deliveryId };
      await client.retryReportDelivery({ params, signal });
      let asked = 0;
      await waitFor(async () => (await client.getReportDelivery({ params, signal })).body, {
        isOver: ({ status, attempts }) => (attempts > 0 && status !== 'processing') || ++asked >= mostAsked,
        signal,
      });
      changed();
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
