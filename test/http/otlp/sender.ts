/** A program with the OpenTelemetry SDK for JavaScript: an agent that calls tools, and a logger. */
import { context, trace, type Attributes } from '@opentelemetry/api';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace';

export interface SenderOptions {
  readonly origin: string;
  readonly key: string;
  readonly encoding: 'json' | 'protobuf';
  readonly compression: 'gzip' | 'none';
  /** Spans of one request. */
  readonly batch?: number;
}

export class Sender {
  readonly #traces: TracerProvider;
  readonly #logs: LoggerProvider;
  readonly #errors: string[] = [];

  constructor({ origin, key, encoding, compression, batch = 2 }: SenderOptions) {
    const headers = { authorization: `Bearer ${key}` };
    const of = (signal: string) => ({
      url: `${origin}/v1/${signal}`,
      headers,
      compression: compression as never,
    });
    const inner: SpanExporter =
      encoding === 'json' ? new JsonExporter(of('traces')) : new ProtobufExporter(of('traces'));
    const exporter: SpanExporter = {
      export: (spans, done) =>
        inner.export(spans, (result) => {
          if (result.error !== undefined) this.#errors.push(String(result.error));
          done(result);
        }),
      shutdown: () => inner.shutdown(),
    };
    const size = { maxExportBatchSize: batch, maxQueueSize: 10_000, scheduledDelayMillis: 60_000 };
    this.#traces = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter, ...size })] });
    const logExporter = new OTLPLogExporter(of('logs'));
    this.#logs = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter: logExporter })] });
  }

  /** An agent that asks a model for tools. Only its own span, which ends last, names the conversation. */
  conversation(name: string, tools: number): void {
    const tracer = this.#traces.getTracer('test');
    const start = (title: string, attributes: Attributes, within = context.active()) =>
      tracer.startSpan(title, { attributes }, within);
    const agent = start('invoke_agent', {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'payer',
      'gen_ai.conversation.id': name,
    });
    const within = trace.setSpan(context.active(), agent);
    for (let n = 0; n < tools; n++) {
      const id = `call_${n}`;
      start('chat', { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm-1' }, within).end();
      start(
        'execute_tool pay',
        {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'pay',
          'gen_ai.tool.call.id': id,
          'gen_ai.conversation.id': name,
        },
        within,
      ).end();
    }
    agent.end();
  }

  /** A log record of a session. */
  log(attributes: Record<string, string | number>): void {
    this.#logs.getLogger('test').emit({ attributes, body: 'text' });
  }

  /** Sends everything; returns the errors of the exporter. */
  async end(): Promise<readonly string[]> {
    await this.#traces.forceFlush();
    await this.#traces.shutdown();
    await this.#logs.shutdown();
    return this.#errors;
  }
}
