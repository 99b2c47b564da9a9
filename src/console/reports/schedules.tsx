/** Schedules, which make reports by themselves. Tested by `test/console/reports.long.test.ts`. */
import { useState } from 'preact/hooks';
import type { ReportSchedule } from '../../contract/report-schedules.ts';
import { visibleLine } from '../../core/visible.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { DeleteDialog } from '../parts/confirm.tsx';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Loading } from '../parts/loading.tsx';
import { PagedFoot, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { NewSchedule } from './new-schedule.tsx';
import { ReportTabs } from './tabs.tsx';
import { whenText, windowTexts } from './when.ts';

const perPage = 50;

export function Schedules() {
  const { client, can } = useSession();
  const [isAsking, setAsking] = useState(false);
  const [made, setMade] = useState('');
  const paged = usePaged({
    key: 'schedules',
    load: async (cursor, signal) =>
      (await client.listReportSchedules({ query: { limit: perPage, cursor }, signal })).body,
    idOf: ({ scheduleId }) => scheduleId,
  });
  const { rows } = paged;
  const actions = can('reporting:write') && (
    <Button kind="main" onClick={() => setAsking(true)}>
      New schedule
    </Button>
  );
  return (
    <>
      <PageHead title="Schedules" actions={actions}>
        Reports that are made by themselves, each day, week or month.
      </PageHead>
      <ReportTabs current="schedules" />
      {rows === undefined && paged.isLoading && <Loading what="the schedules" />}
      {rows?.length === 0 && (
        <Empty title="No schedules yet">A schedule makes a report again and again, and sends it.</Empty>
      )}
      {rows !== undefined && rows.length > 0 && (
        <Table
          caption="Schedules"
          rows={rows}
          keyOf={({ scheduleId }) => scheduleId}
          columns={[
            ...columns,
            {
              name: 'Actions',
              cell: (schedule) =>
                can('reporting:write') && <Actions schedule={schedule} changed={paged.reload} />,
            },
          ]}
        />
      )}
      <PagedFoot paged={paged} noun="schedules" />
      <p role="status" class="quiet">
        {made}
      </p>
      {isAsking && (
        <NewSchedule
          close={() => setAsking(false)}
          made={({ name }) => {
            setAsking(false);
            setMade(visibleLine(`The schedule ${name} was created.`));
            paged.reload();
          }}
        />
      )}
    </>
  );
}

const columns: readonly Column<ReportSchedule>[] = [
  {
    name: 'Schedule',
    cell: ({ name, reportTemplateId, formats, runId }) => (
      <>
        <span class="strong">
          <RemoteLine text={name} />
        </span>
        <div class="quiet small">
          {reportTemplateId}, {formats.join(', ')}
          {runId !== null && <> · run {runId}</>}
        </div>
      </>
    ),
  },
  {
    name: 'When',
    cell: ({ cron, timezone, window }) => (
      <>
        <span class="target">{whenText(cron)}</span>
        <div class="quiet small">
          {timezone}, about {windowTexts[window]}
        </div>
      </>
    ),
  },
  {
    name: 'Sent to',
    cell: ({ deliveries }) => <Targets deliveries={deliveries} />,
  },
  { name: 'Next', cell: ({ nextRunAt }) => (nextRunAt === null ? '–' : <Time at={nextRunAt} ahead />) },
  {
    name: 'Last',
    cell: ({ lastRunAt, lastExecutionId, errorSummary }) => (
      <>
        {lastRunAt === null ? '–' : <Last at={lastRunAt} executionId={lastExecutionId} />}
        {errorSummary !== null && (
          <div class="bad-text small">
            <RemoteLine text={errorSummary} />
          </div>
        )}
      </>
    ),
  },
  {
    name: 'Status',
    cell: ({ enabled }) => (
      <Status tone={enabled ? 'good' : 'plain'}>{enabled ? 'enabled' : 'disabled'}</Status>
    ),
  },
];

const Last = ({ at, executionId }: { readonly at: string; readonly executionId: string | null }) =>
  executionId === null ? (
    <Time at={at} />
  ) : (
    <a href={linkTo(['reports', executionId])}>
      <Time at={at} />
    </a>
  );

/** Each target once, though it gets every format. */
function Targets({ deliveries }: Pick<ReportSchedule, 'deliveries'>) {
  if (deliveries.length === 0) return '–';
  const once = new Map(deliveries.map((each) => [`${each.channel} ${each.target}`, each]));
  return [...once].map(([key, { target, disabledAt }]) => (
    <div key={key} class="target">
      <RemoteLine text={target} />
      {disabledAt !== null && <div class="bad-text small">stopped: it answered that it is gone</div>}
    </div>
  ));
}

interface ActionsProps {
  readonly schedule: ReportSchedule;
  readonly changed: () => void;
}

function Actions({ schedule: { scheduleId, name, enabled }, changed }: ActionsProps) {
  const { client } = useSession();
  const [isDeleting, setDeleting] = useState(false);
  const { isBusy, error, run } = useAction();
  const params = { scheduleId };
  const toggle = (): void =>
    run(async (signal) => {
      await client.updateReportSchedule({ params, body: { enabled: !enabled }, signal });
      changed();
    });
  return (
    <div class="row-actions">
      <Button onClick={toggle} isBusy={isBusy}>
        {enabled ? 'Disable' : 'Enable'}
      </Button>
      <Button kind="quiet" onClick={() => setDeleting(true)}>
        Delete
      </Button>
      {error !== null && <ErrorBox error={error} />}
      {isDeleting && (
        <DeleteDialog
          title="Delete the schedule"
          remove={(signal) => client.deleteReportSchedule({ params, signal })}
          deleted={changed}
          close={() => setDeleting(false)}
        >
          <p>
            <RemoteLine text={name} /> makes no more reports. The reports that it made stay.
          </p>
        </DeleteDialog>
      )}
    </div>
  );
}
