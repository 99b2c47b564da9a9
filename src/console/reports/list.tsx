/** Reports of the project, and a form for another one. Tested by `test/console/runs/page.long.test.ts`. */
import { useState } from 'preact/hooks';
import type { ReportFormat } from '../../contract/report-parts.ts';
import { useLoad } from '../app/load.ts';
import { goTo, linkTo } from '../app/router.ts';
import { useSession } from '../app/session.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { periods, startOf } from '../parts/filters.tsx';
import { Loading } from '../parts/loading.tsx';
import { PagedFoot, usePaged } from '../parts/paged.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { toneOf } from '../runs/words.ts';

const perPage = 50;

export function Reports() {
  const { client, can } = useSession();
  const [isAsking, setAsking] = useState(false);
  const paged = usePaged(
    async (cursor, signal) =>
      (await client.listExecutions({ query: { limit: perPage, cursor }, signal })).body,
    'reports',
  );
  const { rows } = paged;
  return (
    <>
      <PageHead
        title="Reports"
        actions={
          can('reporting:write') && (
            <Button kind="main" onClick={() => setAsking(true)}>
              New report
            </Button>
          )
        }
      >
        Evidence for people: a PDF that verifies itself.
      </PageHead>
      {rows === undefined && paged.isLoading && <Loading what="the reports" />}
      {rows?.length === 0 && <Empty title="No reports yet">A report covers a period of the log.</Empty>}
      {rows !== undefined && rows.length > 0 && (
        <Table
          caption="Reports"
          rows={rows}
          keyOf={({ executionId }) => executionId}
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
            { name: 'Status', cell: ({ status }) => <Status tone={toneOf(status)}>{status}</Status> },
            { name: 'Formats', cell: ({ formats }) => formats.join(', ') },
            {
              name: 'Period',
              cell: ({ parameters: { startTime, endTime } }) => `${dayOf(startTime)} to ${dayOf(endTime)}`,
            },
            { name: 'Requested', cell: ({ createdAt }) => <Time at={createdAt} /> },
          ]}
        />
      )}
      <PagedFoot paged={paged} noun="reports" />
      {isAsking && <NewReport close={() => setAsking(false)} />}
    </>
  );
}

const dayOf = (time: string): string => time.slice(0, 10);

function NewReport({ close }: { readonly close: () => void }) {
  const { client } = useSession();
  const { data, error } = useLoad(
    async (signal) => (await client.listReportTemplates({ signal })).body.data,
    'templates',
  );
  const [templateId, setTemplateId] = useState('');
  const [runId, setRunId] = useState('');
  const [days, setDays] = useState('30');
  const [format, setFormat] = useState<ReportFormat>('pdf');
  const template = data?.find(({ reportTemplateId }) => reportTemplateId === templateId) ?? data?.[0];
  const work = async (signal: AbortSignal): Promise<void> => {
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
      {error !== null && <ErrorBox error={error} />}
      <label class="field">
        Template
        <select
          name="template"
          value={template?.reportTemplateId ?? ''}
          onChange={(event) => setTemplateId(event.currentTarget.value)}
        >
          {data?.map(({ reportTemplateId, title }) => (
            <option key={reportTemplateId} value={reportTemplateId}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <p class="quiet">{template?.description}</p>
      <label class="field">
        {template?.requiresRun === true ? 'Run' : 'Only of the run (optional)'}
        <input
          name="runId"
          required={template?.requiresRun === true}
          value={runId}
          onInput={(event) => setRunId(event.currentTarget.value)}
        />
      </label>
      <Period value={days} choose={setDays} />
      <Format value={format} choose={setFormat} />
    </ConfirmDialog>
  );
}

interface ChoiceProps<Value extends string> {
  readonly value: Value;
  readonly choose: (value: Value) => void;
}

const Period = ({ value, choose }: ChoiceProps<string>) => (
  <label class="field">
    Period
    <select name="days" value={value} onChange={(event) => choose(event.currentTarget.value)}>
      {periods
        .filter((period) => period.value !== '')
        .map((period) => (
          <option key={period.value} value={period.value}>
            {period.text}
          </option>
        ))}
    </select>
  </label>
);

const Format = ({ value, choose }: ChoiceProps<ReportFormat>) => (
  <label class="field">
    Format
    <select
      name="format"
      value={value}
      onChange={(event) => choose(event.currentTarget.value as ReportFormat)}
    >
      <option value="pdf">PDF, with its data as JSON</option>
      <option value="csv">CSV</option>
      <option value="json">JSON</option>
    </select>
  </label>
);
