/**
 * The hash of the definition of a custom template. It is in the log with each change of the template, in the report, and
 * in the answers of the interface, so that a reader can compare them. Proven by `test/service/reports/custom/`.
 */
import { sha256Text } from '../hash.ts';
import { canonicalText } from '../json/canonical.ts';
import type { ReportTemplate } from './model.ts';

/** Returns `sha256:…` of the canonical JSON (RFC 8785) of name, title, introduction and sections. */
export const templateHash = ({
  name,
  title,
  introduction,
  sections,
}: Omit<ReportTemplate, 'version'>): string =>
  sha256Text(canonicalText({ name, title, introduction, sections }));
