/**
 * Reads `report.json` and `presentation.json`. Attacker controlled: every member has its type, unknown members and other
 * bytes than the canonical form are refused with a GovError. Proven by `test/core/reports/verify.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { reportPapers, type ReportPaper } from '../../contract/report-parts.ts';
import { canonicalize, type Json, type JsonObject, parseJson } from '../json/parse.ts';
import { isObject } from '../json/object.ts';
import { anyObject, count, list, type Location, object, refuse, text } from '../json/shape.ts';
import { presentationFile, dataFile } from './artifacts.ts';
import type {
  Report,
  ReportBlock,
  ReportBranding,
  ReportCell,
  ReportChart,
  ReportColumn,
  ReportTable,
  ReportTemplate,
} from './model.ts';

const bounds = {
  depth: 12,
  values: 40_000_000,
  nameChars: 300,
  stringBytes: limits.bundleBytes,
};
const maxItems = 1_000_000;

/** Parses canonical JSON of any size that memory allows. */
function canonicalJson(bytes: Uint8Array, file: string): Json {
  const value = parseJson(bytes, bounds);
  if (!Buffer.from(canonicalize(value)).equals(bytes))
    throw new GovError('VALIDATION_ERROR', `${file}: expected canonical JSON (RFC 8785), got another form`);
  return value;
}

type Reader<Value> = (value: Json, at: Location) => Value;

const items = <Item>(parent: JsonObject, name: string, up: Location, read: Reader<Item>): Item[] =>
  list(parent, name, up, { max: maxItems, read });

const nullable = <Value>(
  parent: JsonObject,
  name: string,
  up: Location,
  read: (parent: JsonObject, name: string, up: Location) => Value,
): Value | null => (parent[name] === null ? null : read(parent, name, up));

function choice<Value extends string>(
  parent: JsonObject,
  name: string,
  up: Location,
  values: readonly Value[],
): Value {
  const value = values.find((each) => each === parent[name]);
  if (value === undefined) refuse({ up, name }, values.join(' or '), parent[name]);
  return value;
}

const kinds = [
  'text',
  'number',
  'time',
  'duration',
  'hash',
  'status',
] as const satisfies ReportColumn['kind'][];

function cell(value: Json, at: Location): ReportCell {
  if (typeof value === 'object' && value !== null) refuse(at, 'a text, a number, a boolean or null', value);
  return value;
}

const idForm = { pattern: /^[a-z0-9][a-z0-9-]{0,99}$/, expected: 'lower case letters, digits and hyphens' };
const nameForm = { pattern: /^[A-Za-z][A-Za-z0-9_.-]{0,99}$/, expected: 'the name of a column' };

function column(value: Json, at: Location): ReportColumn {
  const read = object(value, at, { required: ['kind', 'name', 'title'] });
  return {
    name: text(read, 'name', at, nameForm),
    title: text(read, 'title', at),
    kind: choice(read, 'kind', at, kinds),
  };
}

function table(value: Json, at: Location): ReportTable {
  const read = object(value, at, {
    required: [
      'columns',
      'completeness',
      'exceptions',
      'id',
      'omitted',
      'population',
      'rows',
      'scope',
      'title',
    ],
  });
  const columns = items(read, 'columns', at, column);
  const own: Location = { up: at, name: 'completeness' };
  const completeness = object(read['completeness'], own, { required: ['detail', 'status'] });
  const row: Reader<readonly ReportCell[]> = (each, where) => {
    if (!Array.isArray(each) || each.length !== columns.length)
      refuse(where, `${columns.length} cells`, each);
    return each.map((one, name) => cell(one, { up: where, name }));
  };
  return {
    id: text(read, 'id', at, idForm),
    title: text(read, 'title', at),
    columns,
    population: count(read, 'population', at),
    scope: text(read, 'scope', at),
    omitted: nullable(read, 'omitted', at, text),
    exceptions: count(read, 'exceptions', at),
    rows: items(read, 'rows', at, row),
    completeness: {
      status: choice(completeness, 'status', own, ['proven', 'not_shown']),
      detail: text(completeness, 'detail', own),
    },
  };
}

function chart(value: Json | undefined, at: Location): ReportChart {
  const read = object(value, at, { required: ['kind', 'labels', 'series', 'text', 'title'] });
  const label: Reader<string> = (each, where) =>
    typeof each === 'string' ? each : refuse(where, 'text', each);
  const number: Reader<number> = (each, where) =>
    typeof each === 'number' ? each : refuse(where, 'a number', each);
  return {
    kind: choice(read, 'kind', at, ['bars', 'line']),
    title: text(read, 'title', at),
    text: text(read, 'text', at),
    labels: list(read, 'labels', at, { max: 10_000, read: label }),
    series: list(read, 'series', at, {
      max: 100,
      read: (each, where) => {
        const one = object(each, where, { required: ['name', 'values'] });
        return {
          name: text(one, 'name', where),
          values: list(one, 'values', where, { max: 10_000, read: number }),
        };
      },
    }),
  };
}

function block(value: Json, at: Location): ReportBlock {
  const read = anyObject(value, at);
  const [name = ''] = Object.keys(read);
  object(value, at, { required: [name] });
  if (name === 'text') return { text: text(read, name, at) };
  if (name === 'table') return { table: text(read, name, at, idForm) };
  if (name === 'chart') return { chart: chart(read[name], { up: at, name }) };
  if (name !== 'facts') refuse(at, 'text, facts, chart or table', name);
  return {
    facts: items(read, name, at, (each, where) => {
      const fact = object(each, where, { required: ['kind', 'label', 'value'] });
      return {
        label: text(fact, 'label', where),
        value: cell(fact['value'] ?? null, where),
        kind: choice(fact, 'kind', where, kinds),
      };
    }),
  };
}

const contents = (read: JsonObject): Pick<Report, 'checks' | 'figures' | 'sections' | 'tables'> => ({
  checks: items(read, 'checks', file, (each, at) => {
    const check = object(each, at, { required: ['detail', 'name', 'status'] });
    return {
      name: text(check, 'name', at),
      status: choice(check, 'status', at, ['pass', 'fail', 'not_shown']),
      detail: text(check, 'detail', at),
    };
  }),
  figures: items(read, 'figures', file, (each, at) => {
    const figure = object(each, at, { required: ['kind', 'label', 'name', 'value'] });
    return {
      name: text(figure, 'name', at),
      label: text(figure, 'label', at),
      value: cell(figure['value'] ?? null, at),
      kind: choice(figure, 'kind', at, kinds),
    };
  }),
  sections: items(read, 'sections', file, (each, at) => {
    const section = object(each, at, { required: ['blocks', 'title'] });
    return { title: text(section, 'title', at), blocks: items(section, 'blocks', at, block) };
  }),
  tables: items(read, 'tables', file, table),
});

function templateOf(value: Json | undefined): ReportTemplate {
  const at: Location = { up: file, name: 'template' };
  const read = object(value, at, { required: ['introduction', 'name', 'sections', 'title', 'version'] });
  return {
    version: count(read, 'version', at),
    name: text(read, 'name', at),
    title: text(read, 'title', at),
    introduction: nullable(read, 'introduction', at, text),
    sections: items(read, 'sections', at, (each, where) =>
      typeof each === 'string' ? each : refuse(where, 'text', each),
    ),
  };
}

const file: Location = { file: dataFile };
const members = [
  'attachments',
  'checks',
  'figures',
  'generatedAt',
  'locale',
  'log',
  'organization',
  'parameters',
  'project',
  'reportTemplateId',
  'schemaVersion',
  'sections',
  'tables',
  'timezone',
  'title',
];

/** Returns the report in these bytes. Errors: GovError. Cost: linear in the bytes. */
export function readReport(bytes: Uint8Array): Report {
  const json = canonicalJson(bytes, dataFile);
  if (isObject(json) && 'payloadType' in json)
    throw new GovError(
      'VALIDATION_ERROR',
      'expected a report, got the signature of one; verify the report that lies beside it',
    );
  const read = object(json, file, { required: members, optional: ['template'] });
  const part = (
    name: string,
    required: readonly string[],
    optional: readonly string[] = [],
  ): [JsonObject, Location] => {
    const at: Location = { up: file, name };
    return [object(read[name], at, { required, optional }), at];
  };
  const [project, projectAt] = part('project', ['name', 'projectId']);
  const [log, logAt] = part('log', ['checkpoint', 'origin', 'rootHash', 'treeSize']);
  const [parameters, parametersAt] = part('parameters', ['endTime', 'startTime'], ['projectIds', 'runId']);
  const attachments = anyObject(read['attachments'], { up: file, name: 'attachments' });
  const hex = { pattern: /^[0-9a-f]{64}$/, expected: '64 hex digits' };
  return {
    schemaVersion: choice(read, 'schemaVersion', file, ['1.0']),
    reportTemplateId: text(read, 'reportTemplateId', file),
    ...('template' in read ? { template: templateOf(read['template']) } : {}),
    title: text(read, 'title', file),
    organization: nullable(read, 'organization', file, text),
    project: {
      projectId: text(project, 'projectId', projectAt),
      name: nullable(project, 'name', projectAt, text),
    },
    parameters: {
      startTime: text(parameters, 'startTime', parametersAt),
      endTime: text(parameters, 'endTime', parametersAt),
      ...('runId' in parameters ? { runId: text(parameters, 'runId', parametersAt) } : {}),
      ...('projectIds' in parameters
        ? {
            projectIds: items(parameters, 'projectIds', parametersAt, (each, at) =>
              typeof each === 'string' ? each : refuse(at, 'text', each),
            ),
          }
        : {}),
    },
    timezone: text(read, 'timezone', file),
    locale: text(read, 'locale', file),
    generatedAt: text(read, 'generatedAt', file),
    log: {
      origin: text(log, 'origin', logAt),
      treeSize: count(log, 'treeSize', logAt),
      rootHash: text(log, 'rootHash', logAt),
      checkpoint: text(log, 'checkpoint', logAt),
    },
    attachments: Object.fromEntries(
      Object.keys(attachments).map((name) => [
        name,
        text(attachments, name, { up: file, name: 'attachments' }, hex),
      ]),
    ),
    ...contents(read),
  };
}

export interface Presentation {
  readonly paper: ReportPaper;
  readonly branding: ReportBranding;
  /** Regular, bold, mono, then fonts for other scripts. `sha256`: hex. */
  readonly fonts: readonly { readonly name: string; readonly sha256: string }[];
}

/** Returns how the report was printed. Errors: GovError. */
export function readPresentation(bytes: Uint8Array): Presentation {
  const at: Location = { file: presentationFile };
  const read = object(canonicalJson(bytes, presentationFile), at, {
    required: ['branding', 'fonts', 'paper', 'schemaVersion'],
  });
  const brandingAt: Location = { up: at, name: 'branding' };
  const branding = object(read['branding'], brandingAt, {
    required: ['accentColor', 'companyName', 'footerText', 'logo', 'primaryColor'],
  });
  const logoAt: Location = { up: brandingAt, name: 'logo' };
  const logo =
    branding['logo'] === null
      ? null
      : object(branding['logo'], logoAt, { required: ['base64', 'mediaType'] });
  return {
    paper: choice(read, 'paper', at, reportPapers),
    branding: {
      companyName: nullable(branding, 'companyName', brandingAt, text),
      primaryColor: text(branding, 'primaryColor', brandingAt),
      accentColor: text(branding, 'accentColor', brandingAt),
      footerText: nullable(branding, 'footerText', brandingAt, text),
      logo:
        logo === null
          ? null
          : {
              mediaType: choice(logo, 'mediaType', logoAt, ['image/png', 'image/jpeg']),
              bytes: Buffer.from(text(logo, 'base64', logoAt), 'base64'),
            },
    },
    fonts: list(read, 'fonts', at, {
      max: 100,
      read: (each, where) => {
        const font = object(each, where, { required: ['name', 'sha256'] });
        return { name: text(font, 'name', where), sha256: text(font, 'sha256', where) };
      },
    }),
  };
}
