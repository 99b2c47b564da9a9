/**
 * System events of custom templates (contract O8): who chose what reports show. With the hash of the definition, a reader
 * finds the event that belongs to a report. Proven by `test/service/reports/custom/handlers.test.ts`.
 */
import type { EventDraft } from '../../../core/events/record.ts';
import { templateHash } from '../../../core/reports/template-hash.ts';
import { systemEvent } from '../../writes/system.ts';
import type { StoredTemplate } from './stored.ts';

const actions = { created: 'create', updated: 'update', deleted: 'delete' } as const;

export const templateChanged = (
  change: {
    readonly what: keyof typeof actions;
    readonly reportTemplateId: string;
    readonly stored: StoredTemplate;
  },
  context: {
    readonly nowMs: number;
    readonly salt: () => string;
    readonly by: { readonly id: string; readonly type: string };
  },
): EventDraft => {
  const { what, reportTemplateId, stored } = change;
  const { version, name, title, introduction, sections, formats } = stored;
  const { nowMs, salt, by } = context;
  return systemEvent(
    {
      eventType: `report_template.${what}`,
      action: actions[what],
      actor: { id: by.id, type: by.type },
      resource: { id: reportTemplateId, type: 'report_template' },
      metadata: {
        version,
        definitionHash: templateHash(stored),
        name,
        title,
        introduction,
        sections: [...sections],
        formats: [...formats],
      },
    },
    { nowMs, salt },
  );
};
