/**
 * The floor of `bench/planes.ts`: a Fastify route that parses JSON, verifies an HMAC over the bytes and one
 * Ed25519 signature, and answers. It stores nothing. `node bench/support/bare-planes.ts PORT`
 */
import { createHmac, generateKeyPairSync, sign, timingSafeEqual, verify } from 'node:crypto';
import { fastify } from 'fastify';

const secret = Buffer.alloc(32, 7);
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const note = Buffer.from('gov.local/prj_x/metering/0\n10\nXhFwq/tlE3hJg0fljqc9DTPGLpeDYIr+q91T6Ilk1sk=\n');
const signature = sign(null, note, privateKey);

const app = fastify();
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
);
app.post('/api/v1/telemetry/usage', async (request, reply) => {
  const bytes = request.body as Buffer;
  const { reportId, sequence } = JSON.parse(bytes.toString()) as { reportId: string; sequence: number };
  const timestamp = String(request.headers['x-telemetry-timestamp']);
  const mac = createHmac('sha256', secret).update(`${timestamp}.`).update(bytes).digest();
  const sent = Buffer.from(String(request.headers['x-telemetry-signature']), 'hex');
  // a service has to find the secret by a read, which the floor omits
  const isSame = sent.length === mac.length && timingSafeEqual(mac, sent);
  void reply.code(verify(null, note, publicKey, signature) ? 202 : 401);
  return { reportId, sequence, isSame };
});
await app.listen({ port: Number(process.argv[2]), host: '127.0.0.1' });
console.log('listening');
