/** Runs before each test file: a warning of the process (a leak, a deprecation) fails the run. */
process.on('warning', (warning) => {
  throw warning;
});
