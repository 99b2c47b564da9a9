/** What the API refuses about a field of a dialog, in a real Chromium: it is shown until the field changes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';

let world: ConsoleWorld;
beforeAll(async () => {
  if (hasBrowser) world = await startConsole();
});
afterAll(() => world?.end());

async function openForm() {
  const { page, context } = await world.open('/reports/schedules');
  await page.getByRole('button', { name: 'New schedule' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('Never');
  const faults = dialog.locator('.field-error');
  const submit = () => dialog.getByRole('button', { name: 'Create the schedule' }).click();
  return { dialog, context, faults, submit };
}

describe.skipIf(!hasBrowser)('a field that the API refused', () => {
  it('shows its error until it changes, and the line about it goes with the last one', async () => {
    const { dialog, context, faults, submit } = await openForm();
    await dialog.getByLabel('Repeats').selectOption('by a cron expression');
    await dialog.getByLabel('Cron expression').fill('0 6 30 2 *');
    await submit();
    await faults.waitFor();
    await dialog.getByLabel('Name', { exact: true }).fill('Now and then');
    await expect.poll(() => faults.count()).toBe(1);
    await dialog.getByLabel('Cron expression').fill('0 6 28 2 *');
    await faults.waitFor({ state: 'detached' });
    await expect.poll(() => dialog.getByLabel('Cron expression').getAttribute('aria-invalid')).toBeNull();
    await expect.poll(() => dialog.getByRole('alert').count()).toBe(0);
    await context.close();
  });

  it('that leaves the form takes its error with it', async () => {
    const { dialog, context, faults, submit } = await openForm();
    await dialog.getByLabel('Repeats').selectOption('by a cron expression');
    await dialog.getByLabel('Cron expression').fill('0 6 30 2 *');
    await submit();
    await faults.waitFor();
    await dialog.getByLabel('Repeats').selectOption('daily');
    await faults.waitFor({ state: 'detached' });
    await expect.poll(() => dialog.getByRole('alert').count()).toBe(0);
    await context.close();
  });

  it('of a recipient leaves no error on the recipient that takes its place', async () => {
    const { dialog, context, faults, submit } = await openForm();
    for (const [at, file] of ['first.pdf', 'second.pdf'].entries()) {
      await dialog.getByRole('button', { name: 'Add a recipient' }).click();
      const recipient = dialog.getByRole('group', { name: `Recipient ${at + 1}` });
      await recipient.getByLabel('By', { exact: true }).selectOption('File of the plane');
      await recipient.getByLabel('File name').fill(file);
    }
    await submit();
    await faults.first().waitFor();
    await dialog.getByRole('button', { name: 'Remove recipient 1' }).click();
    await expect.poll(() => dialog.getByLabel('File name').inputValue()).toBe('second.pdf');
    await expect.poll(() => faults.count()).toBe(0);
    await context.close();
  });

  it('of a recipient forgets its error when the recipient becomes one of another kind', async () => {
    const { dialog, context, faults, submit } = await openForm();
    await dialog.getByRole('button', { name: 'Add a recipient' }).click();
    await dialog.getByLabel('By', { exact: true }).selectOption('File of the plane');
    await dialog.getByLabel('File name').fill('first.pdf');
    await submit();
    await faults.first().waitFor();
    await dialog.getByLabel('By', { exact: true }).selectOption('E-mail');
    await dialog.getByLabel('E-mail address').waitFor();
    await expect.poll(() => faults.count()).toBe(0);
    await context.close();
  });
});
