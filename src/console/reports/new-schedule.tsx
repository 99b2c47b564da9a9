/** The form for a schedule of reports. Tested by `test/console/reports.long.test.ts`. */
import { useState } from 'preact/hooks';
import { limits } from '../../contract/limits.ts';
import { reportFormats, type ReportFormat } from '../../contract/report-parts.ts';
import { reportWindows, type ReportSchedule } from '../../contract/report-schedules.ts';
import { useSession } from '../browser/session.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import type { DialogEnds } from '../parts/dialogs.tsx';
import { Choices, SelectField, TextField } from '../parts/field.tsx';
import { deliveriesOf, Recipients, type Recipient } from './recipients.tsx';
import { TemplateFields, useTemplate } from './template.tsx';
import { cronOf, monthDays, monthDayText, weekdays, windowTexts, type ScheduleChoice } from './when.ts';

interface Draft extends ScheduleChoice {
  readonly name: string;
  readonly templateId: string;
  readonly runId: string;
  readonly window: ReportSchedule['window'];
  readonly timezone: string;
  readonly formats: readonly ReportFormat[];
  readonly recipients: readonly Recipient[];
}

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zones = [...new Set([ownZone, 'UTC', ...Intl.supportedValuesOf('timeZone')])];

const start: Draft = {
  name: '',
  templateId: '',
  runId: '',
  every: 'week',
  time: '06:00',
  weekday: 'Monday',
  day: '1',
  cron: '',
  window: 'previous_week',
  timezone: ownZone,
  formats: ['pdf'],
  recipients: [],
};

interface NewScheduleProps extends DialogEnds {
  readonly made: (name: string) => void;
}

export function NewSchedule({ made, ...ends }: NewScheduleProps) {
  const { client } = useSession();
  const [draft, setDraft] = useState(start);
  const change = (members: Partial<Draft>): void => setDraft((before) => ({ ...before, ...members }));
  const choice = useTemplate(draft.templateId);
  const { name, runId, window, timezone, formats, recipients } = draft;
  const work = async (signal: AbortSignal): Promise<void> => {
    const { template } = choice;
    if (template === undefined) throw new Error('expected a template, got none');
    if (formats.length === 0) throw new Error('Choose at least one format.');
    const body = {
      name: name.trim(),
      reportTemplateId: template.reportTemplateId,
      window,
      cron: cronOf(draft),
      timezone,
      formats: [...formats],
      ...(runId.trim() === '' ? {} : { runId: runId.trim() }),
      deliveries: deliveriesOf(recipients, formats),
    };
    made((await client.createReportSchedule({ body, signal })).body.name);
  };
  return (
    <ConfirmDialog {...ends} title="New schedule" verb="Create the schedule" work={work}>
      <TextField
        label="Name"
        name="name"
        maxLength={limits.scheduleNameChars}
        value={name}
        set={(text) => change({ name: text })}
      />
      <TemplateFields
        choice={choice}
        setTemplate={(templateId) => change({ templateId })}
        runId={runId}
        setRun={(text) => change({ runId: text })}
      />
      <WhenFields draft={draft} change={change} />
      <fieldset class="group inline">
        <legend>Formats</legend>
        <Choices
          values={reportFormats}
          chosen={formats}
          choose={(chosen) => change({ formats: chosen })}
          text={(format) => format.toUpperCase()}
          isRequired
        />
      </fieldset>
      <Recipients
        recipients={recipients}
        formats={formats.length}
        set={(changed) => change({ recipients: changed })}
      />
    </ConfirmDialog>
  );
}

interface WhenFieldsProps {
  readonly draft: Draft;
  readonly change: (members: Partial<Draft>) => void;
}

const usualWindows = { day: 'previous_day', week: 'previous_week', month: 'previous_month' } as const;

function WhenFields({ draft, change }: WhenFieldsProps) {
  const { every, time, weekday, day, cron, window, timezone } = draft;
  return (
    <div class="columns">
      <SelectField
        label="Repeats"
        name="every"
        value={every}
        set={(chosen) =>
          change({ every: chosen, ...(chosen === 'cron' ? {} : { window: usualWindows[chosen] }) })
        }
        options={[
          ['day', 'daily'],
          ['week', 'weekly'],
          ['month', 'monthly'],
          ['cron', 'by a cron expression'],
        ]}
      />
      {every === 'week' && (
        <SelectField
          label="On"
          name="weekday"
          value={weekday}
          set={(chosen) => change({ weekday: chosen })}
          options={weekdays.map((each) => [each, each])}
        />
      )}
      {every === 'month' && (
        <SelectField
          label="On"
          name="day"
          value={day}
          set={(chosen) => change({ day: chosen })}
          options={monthDays.map((each) => [each, monthDayText(each)])}
        />
      )}
      {every === 'cron' ? (
        <TextField
          label="Cron expression"
          name="cron"
          placeholder="0 6 * * MON-FRI"
          maxLength={limits.scheduleCronChars}
          value={cron}
          set={(text) => change({ cron: text })}
        />
      ) : (
        <TextField label="At" name="time" type="time" value={time} set={(text) => change({ time: text })} />
      )}
      <SelectField
        label="Time zone"
        name="timezone"
        value={timezone}
        set={(chosen) => change({ timezone: chosen })}
        options={zones.map((each) => [each, each])}
      />
      <SelectField
        label="Period"
        name="window"
        value={window}
        set={(chosen) => change({ window: chosen })}
        options={reportWindows.map((each) => [each, windowTexts[each]])}
      />
    </div>
  );
}
