/** Schedules, which make reports by themselves. Tested by `test/console/reports.long.test.ts`. */
import { useState } from 'preact/hooks';
import type { ReportSchedule } from '../../contract/report-schedules.ts';
import { visibleLine } from '../../core/visible.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs, type Dialogs } from '../parts/dialogs.tsx';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { NewSchedule } from './new-schedule.tsx';
import { ReportTabs } from './tabs.tsx';
import { whenText, windowTexts } from './when.ts';

export function Schedules() {
  const { client, can } = useSession();
  const [news, setNews] = useState('');
  const paged = usePaged({
    key: 'schedules',
    load: (query, signal) => client.listReportSchedules({ query, signal }),
    idOf: ({ scheduleId }) => scheduleId,
  });
  const { ask, dialogs } = useDialogs(paged.reload);
  const made = (name: string): void => setNews(visibleLine(`The schedule ${name} was created.`));
  const actions = can('reporting:write') && (
    <Button kind="main" onClick={() => ask((ends) => <NewSchedule made={made} {...ends} />)}>
      New schedule
    </Button>
  );
  return (
    <>
      <PageHead title="Schedules" actions={actions}>
        Reports that are made by themselves, each day, week or month.
      </PageHead>
      <ReportTabs current="schedules" />
      <PagedTable
        paged={paged}
        noun="schedules"
        caption="Schedules"
        empty={
          <Empty title="No schedules yet">A schedule makes a report again and again, and sends it.</Empty>
        }
        columns={[
          ...columns,
          {
            name: 'Actions',
            cell: (schedule) =>
              can('reporting:write') && <Actions schedule={schedule} ask={ask} changed={paged.reload} />,
          },
        ]}
      />
      <p role="status" class="quiet">
        {news}
      </p>
      {dialogs}
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

interface ActionsProps extends Pick<Dialogs, 'ask'> {
  readonly schedule: ReportSchedule;
  readonly changed: () => void;
}

function Actions({ schedule: { scheduleId, name, enabled }, ask, changed }: ActionsProps) {
  const { client } = useSession();
  const { isBusy, error, run } = useAction(changed);
  const params = { scheduleId };
  const toggle = (): void =>
    run((signal) => client.updateReportSchedule({ params, body: { enabled: !enabled }, signal }));
  const remove = (): void =>
    ask((ends) => (
      <ConfirmDialog
        {...ends}
        title="Delete the schedule"
        verb="Delete"
        isDangerous
        work={(signal) => client.deleteReportSchedule({ params, signal })}
      >
        <p>
          <RemoteLine text={name} /> makes no more reports. The reports that it made stay.
        </p>
      </ConfirmDialog>
    ));
  return (
    <div class="row-actions">
      <Button onClick={toggle} isBusy={isBusy}>
        {enabled ? 'Disable' : 'Enable'}
      </Button>
      <Button kind="quiet" onClick={remove}>
        Delete
      </Button>
      {error !== null && <ErrorBox error={error} />}
    </div>
  );
}
