/**
 * Processor time that this thread has used, in milliseconds. Two readings around a computation give its cost, however
 * many other processes share the machine; time on the clock grows with them.
 */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
