/**
 * Bounded bodies of responses from other servers, whose length is unknown before their end.
 */

/** Returns the body of a response. Throws where it exceeds `maxBytes`, without reading the rest. */
export async function boundedBody(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    // leaving the loop cancels the rest
    if (size > maxBytes) throw new Error(`${response.url}: expected at most ${maxBytes} bytes, got more`);
  }
  return Buffer.concat(chunks);
}
