/**
 * Benchmark of decisions without a service. Compares one policy for one policy input with six engines from npm:
 * three policies in the language of each, with results compared before the measurement. Then compares large
 * sets and their index with an evaluation of every policy, and measures the risk router. CPU of this thread,
 * variants in turn. `node bench/policy.ts [rounds]`
 */
import { canonicalCondition } from '../src/core/policies/language/canonical.ts';
import { counts } from '../src/core/policies/evaluate/decision.ts';
import { PolicySet } from '../src/core/policies/set/in-force.ts';
import { parseText } from '../src/core/policies/language/text.ts';
import { defaultRiskConfig, riskRouter } from '../src/core/risk/config.ts';
import { evaluateRisk } from '../src/core/risk/router.ts';
import { governedCalls, policyOf } from './support/governed.ts';
import { alternate, report } from './support/harness.ts';
import { engines } from './support/peers.ts';

const rounds = Number(process.argv[2] ?? 15);
const calls = governedCalls('policy');

/** CPU microseconds of this thread for each unit of work that `run` returns. */
async function cpuEach(run: () => number | Promise<number>): Promise<number> {
  const before = process.threadCpuUsage();
  const units = await run();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / units;
}

const contexts = calls.slice(0, 300).map(({ checkpoint: { context } }, at) => {
  const { env, tool, user, amountUsd } = context as Record<string, Record<string, string>>;
  const called = { name: tool?.['name'] ?? '', kind: tool?.['kind'] ?? '' };
  const role = at % 8 === 0 ? 'batch' : 'customer-service';
  const granted = at % 3 === 0;
  return { env, tool: called, user, amountUsd, agent: { role }, approval: { granted } } as typeof context;
});

const prepared = await Promise.all(
  Object.entries(engines).map(async ([name, make]) => ({ name, policies: await make() })),
);
const answers = new Map<string, string>();
for (const { name, policies } of prepared) {
  const said: boolean[] = [];
  for (const matches of policies) for (const context of contexts) said.push(await matches(context));
  answers.set(name, said.map(Number).join(''));
}
const ours = answers.get('gov') ?? '';
for (const [name, said] of answers) {
  if (said !== ours) throw new Error(`${name} answers otherwise than gov`);
}
const matched = [...ours].filter((each) => each === '1').length;

async function once(name: string): Promise<number> {
  const { policies } = prepared.find((each) => each.name === name) ?? { policies: [] };
  // repeats fast variants, because the clock of a thread has millisecond resolution on some machines
  const repeats =
    { gov: 400, '@marcbachmann/cel-js': 150, 'json-rules-engine': 2, '@cedar-policy/cedar-wasm': 2 }[name] ??
    20;
  return cpuEach(async () => {
    for (let again = 0; again < repeats; again += 1) {
      for (const matches of policies) {
        for (const context of contexts) {
          const answer = matches(context);
          if (typeof answer !== 'boolean') await answer;
        }
      }
    }
    return repeats * policies.length * contexts.length;
  });
}
const each = await alternate(
  Object.fromEntries(prepared.map(({ name }) => [name, () => once(name)])),
  rounds,
);
const gov = each['gov'] ?? NaN;
report(
  `one policy, one checkpoint: ${contexts.length} contexts, three policies, ${matched} matches, median of ${rounds}`,
  Object.entries(each).map(([what, us]) => ({
    ratio: `${(us / gov).toFixed(1)} x`,
    figure: `${(1000 * us).toFixed(0)} ns`,
    what: what === 'gov' ? 'gov (reach: 350 ns, quicker than all)' : `peer: ${what}`,
  })),
);

/** Most policies are about one tool of one team, and some about amounts for any tool. */
const setOf = (size: number): PolicySet =>
  PolicySet.of(
    Array.from({ length: size }, (_, at) => {
      const tool = `tool-${at % Math.ceil(size / 20)}`;
      const text =
        at % 100 === 0
          ? `amountUsd > ${1000 + at} && user.tier < 2`
          : `env == "production" && tool.name == "${tool}" && amountUsd > ${at % 1500} && team == "t${at % 50}"`;
      return policyOf(`set-${at}`, 'deny', canonicalCondition(parseText(text)));
    }),
  );

const rows: { ratio: string; figure: string; what: string }[] = [];
for (const [size, reach] of [
  [1000, '0.1 ms'],
  [10_000, '0.5 ms'],
] as const) {
  const set = setOf(size);
  const ids = set.versions().map(({ policyId }) => policyId);
  const checkpoints = calls.slice(0, 100).map(({ checkpoint }, at) => {
    const tool = { name: `tool-${at % Math.ceil(size / 20)}`, kind: 'write' };
    return { context: { ...checkpoint.context, tool, team: `t${at % 50}` } };
  });
  for (const checkpoint of checkpoints) {
    const all = set.decide(checkpoint, { ids }).decisions.filter(({ outcome }) => counts(outcome));
    const indexed = set.decide(checkpoint).decisions;
    const texts = [all, indexed].map((list) =>
      list
        .map(({ policyId }) => policyId)
        .sort()
        .join(),
    );
    if (texts[0] !== texts[1]) throw new Error('the index decides otherwise than all policies');
  }
  const members = ids.map((id) => set.get(id)).filter((member) => member !== undefined);
  const figures = await alternate(
    {
      indexed: () =>
        cpuEach(() => {
          for (let again = 0; again < 5; again += 1) for (const one of checkpoints) set.decide(one);
          return 5 * checkpoints.length;
        }),
      linear: () =>
        cpuEach(() => {
          for (const one of checkpoints) for (const member of members) member.decide(one);
          return checkpoints.length;
        }),
    },
    rounds,
  );
  rows.push(
    {
      ratio: `${(figures.linear / figures.indexed).toFixed(0)} x`,
      figure: `${(figures.indexed / 1000).toFixed(3)} ms`,
      what: `${size} active policies, decisions with the index (reach: ${reach})`,
    },
    { ratio: '', figure: `${(figures.linear / 1000).toFixed(3)} ms`, what: 'every one of them asked' },
  );
}
report(`sets of policies, one checkpoint, median of ${rounds}`, rows);

const router = riskRouter(defaultRiskConfig);
const inputs = calls.slice(0, 300).map(({ checkpoint: { step } }) => ({
  policyDecisions: [
    { policyId: 'air-cancel', decision: step % 5 === 0 ? 'warn' : 'allow', score: (step % 10) / 10 },
    { policyId: 'air-booking', decision: 'allow', score: 0 },
  ],
  quotaState: { used: step * 20, limit: 1000 },
  evaluationSignals: [
    { signal: 'anomaly', value: (step % 7) / 7 },
    { signal: 'latency', value: (step % 3) / 3 },
  ],
  explicitSignals: { isWeekend: step % 2 === 0 },
}));
const { risk } = await alternate(
  {
    risk: () =>
      cpuEach(() => {
        for (let again = 0; again < 10; again += 1) for (const one of inputs) evaluateRisk(one, router);
        return 10 * inputs.length;
      }),
  },
  rounds,
);
report(`risk of a moment with six facts, median of ${rounds}`, [
  { ratio: '', figure: `${risk.toFixed(1)} µs`, what: 'score, action and inputs hash (reach: 10 µs)' },
]);
