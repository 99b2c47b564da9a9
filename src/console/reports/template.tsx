/** The choice of a report template, and of the run that some templates are about. */
import { visibleLine } from '../../core/visible.ts';
import { useLoad } from '../browser/load.ts';
import { useSession } from '../browser/session.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { SelectField, TextField } from '../parts/field.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';

interface Template {
  readonly reportTemplateId: string;
  readonly title: string;
  readonly description: string;
  readonly requiresRun: boolean;
}

export interface TemplateChoice {
  /** Undefined until the templates are there. */
  readonly template: Template | undefined;
  readonly templates: readonly Template[];
  readonly error: unknown;
}

/** `templateId`: '' is the first one. */
export function useTemplate(templateId: string): TemplateChoice {
  const { client } = useSession();
  const { data: templates = [], error } = useLoad(
    async (signal) => (await client.listReportTemplates({ signal })).body.data,
    'templates',
  );
  const template = templates.find(({ reportTemplateId }) => reportTemplateId === templateId) ?? templates[0];
  return { template, templates, error };
}

interface TemplateFieldsProps {
  readonly choice: TemplateChoice;
  readonly setTemplate: (templateId: string) => void;
  readonly runId: string;
  readonly setRun: (runId: string) => void;
}

export const TemplateFields = ({
  choice: { template, templates, error },
  setTemplate,
  runId,
  setRun,
}: TemplateFieldsProps) => (
  <>
    {error !== null && <ErrorBox error={error} />}
    <SelectField
      label="Template"
      name="reportTemplateId"
      value={template?.reportTemplateId ?? ''}
      set={setTemplate}
      options={templates.map(({ reportTemplateId, title }) => [reportTemplateId, visibleLine(title)])}
    />
    <p class="quiet">
      <RemoteLine text={template?.description ?? ''} />
    </p>
    <TextField
      label={template?.requiresRun === true ? 'Run' : 'Only of the run (optional)'}
      name="runId"
      isRequired={template?.requiresRun === true}
      value={runId}
      set={setRun}
    />
  </>
);
