/** Reports of the project, and a form for another one. Tested by `test/console/runs/page.long.test.ts`. */
import { useState } from 'preact/hooks';
import type { ReportFormat } from '../../contract/report-parts.ts';
import { goTo, linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs, type DialogEnds } from '../parts/dialogs.tsx';
import { Empty } from '../parts/empty.tsx';
import { SelectField } from '../parts/field.tsx';
import { periods, startOf } from '../parts/filters.tsx';
import { PagedTable, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import { isOver, periodText } from './words.ts';
import { ReportTabs } from './tabs.tsx';
import { TemplateFields, useTemplate } from './template.tsx';

export function Reports() {
  const { client, can } = useSession();
  const paged = usePaged({
    key: 'reports',
    load: (query, signal) => client.listExecutions({ query, signal }),
    idOf: ({ executionId }) => executionId,
    isBusy: ({ status }) => !isOver(status),
  });
  const { ask, dialogs } = useDialogs(paged.reload);
  return (
    <>
      <PageHead
        title="Reports"
        actions={
          can('reporting:write') && (
            <Button kind="main" onClick={() => ask(NewReport)}>
              New report
            </Button>
          )
        }
      >
        Evidence for people: a PDF that verifies itself.
      </PageHead>
      <ReportTabs current="reports" />
      <PagedTable
        paged={paged}
        noun="reports"
        caption="Reports"
        empty={<Empty title="No reports yet">A report covers a period of the log.</Empty>}
        columns={[
          {
            name: 'Report',
            kind: 'wide',
            cell: ({ executionId, title, reportTemplateId, parameters }) => (
              <>
                <a href={linkTo(['reports', executionId])}>
                  <RemoteLine text={title} />
                </a>
                <div class="quiet small">
                  {reportTemplateId}
                  {parameters.runId !== undefined && <> · run {parameters.runId}</>}
                </div>
              </>
            ),
          },
          { name: 'Status', cell: ({ status }) => <Status>{status}</Status> },
          { name: 'Formats', cell: ({ formats }) => formats.join(', ') },
          {
            name: 'Period',
            cell: ({ parameters }) => periodText(parameters),
          },
          { name: 'Requested', cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
      {dialogs}
    </>
  );
}

function NewReport({ close }: DialogEnds) {
  const { client } = useSession();
  const [templateId, setTemplate] = useState('');
  const [runId, setRun] = useState('');
  const [days, setDays] = useState('30');
  const [format, setFormat] = useState<ReportFormat>('pdf');
  const choice = useTemplate(templateId);
  const work = async (signal: AbortSignal): Promise<void> => {
    const { template } = choice;
    if (template === undefined) throw new Error('expected a template, got none');
    const body = {
      reportTemplateId: template.reportTemplateId,
      formats: format === 'pdf' ? (['pdf', 'json'] satisfies ReportFormat[]) : [format],
      parameters: {
        startTime: startOf(days) ?? new Date(0).toISOString(),
        endTime: new Date().toISOString(),
        ...(runId.trim() === '' ? {} : { runId: runId.trim() }),
      },
    };
    const { executionId } = (await client.createExecution({ body, signal })).body;
    close();
    goTo(linkTo(['reports', executionId]));
  };
  return (
    <ConfirmDialog title="New report" verb="Make the report" work={work} close={close}>
      <TemplateFields choice={choice} setTemplate={setTemplate} runId={runId} setRun={setRun} />
      <SelectField
        label="Period"
        name="days"
        value={days}
        set={setDays}
        options={periods.filter(({ value }) => value !== '').map(({ value, text }) => [value, text])}
      />
      <SelectField
        label="Format"
        name="format"
        value={format}
        set={setFormat}
        options={[
          ['pdf', 'PDF, with its data as JSON'],
          ['csv', 'CSV'],
          ['json', 'JSON'],
        ]}
      />
    </ConfirmDialog>
  );
}
