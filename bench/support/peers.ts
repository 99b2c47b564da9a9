/**
 * Three policies in the language of each peer of `bench/policy.ts`, prepared as its documentation advises:
 * parsed once, evaluated for many contexts. Peers are installed on demand (`peer`), never with the project.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Json, JsonObject } from '../../src/core/json/parse.ts';
import { canonicalCondition } from '../../src/core/policies/language/canonical.ts';
import { Member } from '../../src/core/policies/set/member.ts';
import { parseText } from '../../src/core/policies/language/text.ts';
import { policyOf } from './governed.ts';
import { peer } from './harness.ts';

/** Whether a policy matches a context. */
export type Matches = (context: JsonObject) => boolean | Promise<boolean>;

const tools = ['shell', 'ssh', 'sudo', 'curl', 'wget', 'book_reservation', 'cancel_reservation'];
const quotedTools = tools.map((name) => JSON.stringify(name)).join(', ');

/** The text form is CEL except for `context`. JsonLogic comes from the parsed tree. */
const texts = [
  `env == "production" && tool.name in [${quotedTools}] && amountUsd > 300 && !approval.granted`,
  'tool.kind == "write" && amountUsd > 1000 && user.tier < 3',
  'user.region == "eu" || agent.role != "customer-service" && tool.name == "get_user_details"',
];

const load = <Module>(name: string, file = name): Module =>
  createRequire(join(peer(name), 'index.js'))(file) as Module;

/** Each of the three policies as `(context) => boolean`. */
export const engines: Readonly<Record<string, () => Matches[] | Promise<Matches[]>>> = {
  gov: () =>
    texts.map((text, at) => {
      const member = Member.of(policyOf(`peer-${at}`, 'deny', canonicalCondition(parseText(text))));
      return (context) => member.decide({ context }).outcome === 'matched';
    }),
  'json-logic-js': () => {
    const { apply } = load<{ apply(rule: Json, data: unknown): unknown }>('json-logic-js');
    const rules = texts.map((text) => canonicalCondition(parseText(text)));
    return rules.map((rule) => (context) => apply(asVar(rule), { context }) === true);
  },
  '@marcbachmann/cel-js': () => {
    const cel = load<{ parse(text: string): (context: JsonObject) => unknown }>('@marcbachmann/cel-js');
    return texts.map((text) => {
      const evaluate = cel.parse(withDoubles(text));
      return (context) => evaluate(context) === true;
    });
  },
  '@bufbuild/cel': () => {
    const cel = load<{
      celEnv(): unknown;
      parse(text: string): unknown;
      plan(env: unknown, parsed: unknown): (context: JsonObject) => unknown;
    }>('@bufbuild/cel');
    return texts.map((text) => {
      const evaluate = cel.plan(cel.celEnv(), cel.parse(withDoubles(text)));
      return (context) => evaluate(context) === true;
    });
  },
  casbin: () => {
    const casbin = load<{
      newModelFromString(text: string): unknown;
      newEnforcer(model: unknown): Promise<{ enforceSync(context: JsonObject): boolean }>;
    }>('casbin');
    const matchers = texts.map((text) =>
      text
        .replace(/\b(env|tool|amountUsd|approval|user|agent)\b(?=[. ])/g, 'r.context.$1')
        // a space before the bracket would make it a list (casbin, bracketCompatible)
        .replace(/ (\S+) in (\[.*?\])/, '($1 in $2)'),
    );
    return Promise.all(
      matchers.map(async (matcher) => {
        const model = casbin.newModelFromString(
          `[request_definition]\nr = context\n[policy_definition]\np = context\n` +
            `[policy_effect]\ne = some(where (p.eft == allow))\n[matchers]\nm = ${matcher}`,
        );
        const enforcer = await casbin.newEnforcer(model);
        return (context: JsonObject) => enforcer.enforceSync(context);
      }),
    );
  },
  'json-rules-engine': () => {
    const { Engine } = load<{
      Engine: new () => {
        addRule(rule: object): void;
        run(facts: object): Promise<{ events: unknown[] }>;
      };
    }>('json-rules-engine');
    return ruleConditions.map((conditions) => {
      const engine = new Engine();
      engine.addRule({ conditions, event: { type: 'matched' } });
      return async (context) => (await engine.run({ context })).events.length > 0;
    });
  },
  '@cedar-policy/cedar-wasm': () => {
    const cedar = load<{
      preparsePolicySet(id: string, policies: object): { type: string };
      statefulIsAuthorized(call: object): { response?: { decision: string } };
    }>('@cedar-policy/cedar-wasm', '@cedar-policy/cedar-wasm/nodejs');
    return texts.map((text, at) => {
      const preparsedPolicySetId = `policy-${at}`;
      const condition = text
        .replace(/\b(env|tool|amountUsd|approval|user|agent)\b(?=[. ])/g, 'context.$1')
        .replace(/(\S+) in (\[.*?\])/, '$2.contains($1)');
      const staticPolicies = `permit (principal, action, resource) when { ${condition} };`;
      const parsed = cedar.preparsePolicySet(preparsedPolicySetId, { staticPolicies });
      if (parsed.type !== 'success') throw new Error(`cedar refuses ${condition}`);
      const principal = { type: 'Agent', id: 'airline-agent' };
      const action = { type: 'Action', id: 'call' };
      const resource = { type: 'Tool', id: 'any' };
      const call = { principal, action, resource, preparsedPolicySetId, entities: [] };
      return (context) => cedar.statefulIsAuthorized({ ...call, context }).response?.decision === 'allow';
    });
  },
};

/** Numbers from JavaScript are doubles, which CEL compares with doubles. */
const withDoubles = (text: string): string => text.replace(/(?<=[<>] )\d+/g, '$&.0');

/** The canonical form reads a path by `val`, but this peer needs `var` with a dotted path. */
function asVar(rule: Json): Json {
  if (Array.isArray(rule)) return rule.map(asVar);
  if (typeof rule !== 'object' || rule === null) return rule;
  return Object.fromEntries(
    Object.entries(rule).map(([op, args]) =>
      op === 'val' && Array.isArray(args) ? ['var', args.join('.')] : [op, asVar(args)],
    ),
  );
}

const fact = (path: string, operator: string, value: Json) => ({
  fact: 'context',
  path: `$.${path}`,
  operator,
  value,
});
const ruleConditions = [
  {
    all: [
      fact('env', 'equal', 'production'),
      fact('tool.name', 'in', tools),
      fact('amountUsd', 'greaterThan', 300),
      fact('approval.granted', 'equal', false),
    ],
  },
  {
    all: [
      fact('tool.kind', 'equal', 'write'),
      fact('amountUsd', 'greaterThan', 1000),
      fact('user.tier', 'lessThan', 3),
    ],
  },
  {
    any: [
      fact('user.region', 'equal', 'eu'),
      {
        all: [
          fact('agent.role', 'notEqual', 'customer-service'),
          fact('tool.name', 'equal', 'get_user_details'),
        ],
      },
    ],
  },
];
