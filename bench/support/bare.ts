/** The floor of `bench/single.ts`: a Fastify route that parses JSON and answers. `node bench/support/bare.ts PORT` */
import { fastify } from 'fastify';

const app = fastify();
app.post('/api/v1/events', async (request, reply) => {
  void reply.code(201);
  return { eventId: 'evt_01jzzzzzzzzzzzzzzzzzzzzzzz', runId: (request.body as { runId: string }).runId };
});
await app.listen({ port: Number(process.argv[2]), host: '127.0.0.1' });
console.log('listening');
