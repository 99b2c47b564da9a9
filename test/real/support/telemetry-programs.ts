/**
 * Programs that call a tool twice with the packages of JavaScript frameworks and their own telemetry; the second call fails.
 * `fake` is a stand-in for the models of OpenAI and Google on loopback. Each prints what it did: its calls, and how often
 * the model was asked.
 */

const fake = `
import { createServer } from 'node:http';
export async function fakeModels() {
  const asked = [];
  const args = (n) => ({ amount: n === 0 ? 5 : 500 });
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const body = JSON.parse(text || '{}');
      asked.push(request.url);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answerTo(request.url, body)));
    });
  });
  function answerTo(url, body) {
    if (url.includes('generateContent')) {
      const n = body.contents.flatMap(({ parts }) => parts).filter((part) => part.functionResponse).length;
      const parts = n < 2 ? [{ functionCall: { name: 'pay', args: args(n) } }] : [{ text: 'done' }];
      return { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }] };
    }
    if (url.includes('responses')) {
      const n = [body.input].flat().filter((item) => item.type === 'function_call_output').length;
      const call = { type: 'function_call', id: 'fc_' + n, call_id: 'call_' + n, name: 'pay', arguments: JSON.stringify(args(n)), status: 'completed' };
      const message = { type: 'message', id: 'msg', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done', annotations: [] }] };
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
      return { id: 'resp_' + asked.length, object: 'response', created_at: 1, status: 'completed', model: 'gpt-x', output: [n < 2 ? call : message], usage };
    }
    const n = body.messages.filter(({ role }) => role === 'tool').length;
    const tool_calls = [{ id: 'call_' + n, type: 'function', function: { name: 'pay', arguments: JSON.stringify(args(n)) } }];
    const message = n < 2 ? { role: 'assistant', content: null, tool_calls } : { role: 'assistant', content: 'done' };
    return { id: 'chat-' + asked.length, object: 'chat.completion', created: 1, model: 'gpt-x', choices: [{ index: 0, message, finish_reason: n < 2 ? 'tool_calls' : 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
  }
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return { url: 'http://127.0.0.1:' + server.address().port, asked, close: () => { server.close(); server.closeAllConnections(); } };
}
const calls = [];
export function pay({ amount }) {
  calls.push(amount);
  if (amount > 100) throw new Error('too much');
  return 'paid ' + amount;
}
export const tell = (asked) => console.log(JSON.stringify({ calls, asked }));
`;

const langfuse = `
import { NodeSDK } from '@opentelemetry/sdk-node';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { propagateAttributes, startActiveObservation as observe } from '@langfuse/tracing';
import { pay, tell } from './fake.mjs';
const exporter = new OTLPTraceExporter();
const sdk = new NodeSDK({ spanProcessors: [new LangfuseSpanProcessor({ publicKey: 'pk', secretKey: 'sk', exporter })] });
sdk.start();
await propagateAttributes({ sessionId: 'langfuse' }, () => observe('run', async () => {
  await observe('model', async (model) => { model.update({ model: 'm', input: 'go', output: 'pay' }); }, { asType: 'generation' });
  for (const amount of [5, 500])
    await observe('pay', async (tool) => {
      tool.update({ input: { amount } });
      try { tool.update({ output: pay({ amount }) }); }
      catch (error) { tool.update({ level: 'ERROR', statusMessage: error.message }); }
    }, { asType: 'tool' });
}, { asType: 'agent' }));
await sdk.shutdown();
tell(1);
`;

const langchain = `
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as manager from '@langchain/core/callbacks/manager';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { fakeModels, pay, tell } from './fake.mjs';
const instrumentation = new LangChainInstrumentation();
const sdk = new NodeSDK({ instrumentations: [instrumentation] });
sdk.start();
instrumentation.manuallyInstrument(manager);
const { ChatOpenAI } = await import('@langchain/openai');
const { createAgent, tool } = await import('langchain');
const { z } = await import('zod');
const models = await fakeModels();
const model = new ChatOpenAI({ model: 'gpt-x', apiKey: 'x', configuration: { baseURL: models.url + '/v1' }, useResponsesApi: false });
const tools = [tool(async (args) => { try { return pay(args); } catch (error) { return String(error); } }, { name: 'pay', description: 'pays', schema: z.object({ amount: z.number() }) })];
await createAgent({ model, tools }).invoke({ messages: [{ role: 'user', content: 'go' }] });
await sdk.shutdown();
models.close();
tell(models.asked.length);
`;

const aiSdk = `
import { NodeSDK } from '@opentelemetry/sdk-node';
import { OpenTelemetry } from '@ai-sdk/otel';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, registerTelemetry, tool } from 'ai';
import { z } from 'zod';
import { fakeModels, pay, tell } from './fake.mjs';
const sdk = new NodeSDK();
sdk.start();
registerTelemetry(new OpenTelemetry());
const models = await fakeModels();
const openai = createOpenAI({ apiKey: 'x', baseURL: models.url + '/v1' });
const tools = { pay: tool({ description: 'pays', inputSchema: z.object({ amount: z.number() }), execute: async (args) => pay(args) }) };
await generateText({ model: openai('gpt-x'), prompt: 'go', stopWhen: isStepCount(5), tools, telemetry: { isEnabled: true } });
await sdk.shutdown();
models.close();
tell(models.asked.length);
`;

const adk = `
import { NodeSDK } from '@opentelemetry/sdk-node';
import { fakeModels, pay, tell } from './fake.mjs';
const sdk = new NodeSDK();
sdk.start();
const models = await fakeModels();
Object.assign(process.env, { GOOGLE_GEMINI_BASE_URL: models.url, GEMINI_API_KEY: 'x' });
const { FunctionTool, InMemoryRunner, LlmAgent } = await import('@google/adk');
const { z } = await import('zod');
const tools = [new FunctionTool({ name: 'pay', description: 'pays', parameters: z.object({ amount: z.number() }), execute: async (args) => pay(args) })];
const agent = new LlmAgent({ name: 'clerk', model: 'gemini-x', instruction: 'pay', tools });
const runner = new InMemoryRunner({ agent, appName: 'app' });
await runner.sessionService.createSession({ appName: 'app', userId: 'u', sessionId: 'adk' });
const newMessage = { role: 'user', parts: [{ text: 'go' }] };
for await (const event of runner.runAsync({ userId: 'u', sessionId: 'adk', newMessage })) void event;
await sdk.shutdown();
models.close();
tell(models.asked.length);
`;

/** Files of the programs. `ADK` writes log lines too, so that what a program did is its last line. */
export const programs = { fake, langfuse, langchain, 'ai-sdk': aiSdk, adk } as const;
