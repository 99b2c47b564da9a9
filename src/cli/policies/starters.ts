/**
 * Starter policies: what most agents with tools need first, on the canonical action of a call, so alike for all clients.
 * `starter-cases.ts` has cases for each that notice every mutant of its condition. Proven by
 * `test/cli/commands/policy/starter.test.ts`.
 */

export interface Starter {
  /** The policy's id and the name of its file. */
  readonly id: string;
  /** What it is for, in one sentence. */
  readonly summary: string;
  /** A policy file. */
  readonly text: string;
}

export const starters: readonly Starter[] = [
  {
    id: 'guard-the-guard',
    summary:
      'Nothing changes what decides: settings of clients, hooks, start files of shells, and gov itself',
    text: `// Only a person changes gov, the settings of clients and what shells run at their start.
deny "guard-the-guard" critical unknown escalate
name "Nobody changes what decides"
when
  has(action) && (
    some(action.paths, @.access != "read" && "control" in @.places)
    || some(action.commands, @.program == "gov" && !(@.verb in ["", "status", "version", "help", "events", "runs", "hook", "search", "log", "doctor"]))
    || some(action.endpoints, @ == action.plane)
    || some(action.commands, @.program in ["kill", "pkill", "killall", "systemctl", "service", "launchctl"] && some(@.operands, "gov" in substr(@, 0)))
    || some(action.commands, @.program in ["claude", "codex", "gemini", "opencode", "cursor-agent"]
         && some(@.flags, @ in ["--settings", "--setting-sources", "--bare", "--pure", "-c", "--config", "--profile", "--yolo", "--dangerously-bypass-hook-trust", "--plugin-dir", "--acp", "--experimental-acp"]))
    || some(action.code, @ in ["gov by another program", "git config runs a program", "npm config runs a program", "variable HOME"]
         || starts_with(@, "variable XDG_") || starts_with(@, "variable CLAUDE_") || starts_with(@, "variable CODEX_") || starts_with(@, "variable GOV_"))
  )
`,
  },
  {
    id: 'no-delete-outside',
    summary:
      'Only files of the workspace and temporary files are deleted; no disk is overwritten, no machine stopped',
    text: `// The workspace is the git root at the start of the session. A command that does not say what it deletes is asked about.
deny "no-delete-outside" critical unknown escalate
name "Only the workspace and temporary files are deleted"
when
  has(action) && (
    some(action.paths, @.access == "delete" && (!("workspace" in @.places) && !("temp" in @.places) || "above-workspace" in @.places))
    || some(action.commands, @.program in ["shred", "dd", "wipefs", "fdisk", "parted", "mkswap", "shutdown", "reboot", "halt", "poweroff", "killall", "pkill"]
         || starts_with(@.program, "mkfs")
         || @.program == "fuser" && some(@.flags, @ in ["-k", "--kill"])
         || @.program == "kill" && (some(@.operands, @ in ["-1", "0", "1"]) || length(@.operands) == 0 && some(@.flags, @ == "-1"))
         || @.program == "systemctl" && @.verb in ["poweroff", "reboot", "halt", "kexec"])
  )
`,
  },
  {
    id: 'no-secrets',
    summary:
      'No tool reads files with keys and passwords, by their names, stores of secrets, or the environment',
    text: `// Copies of the whole home take the keys in it.
deny "no-secrets" critical unknown escalate
name "No keys and passwords"
when
  has(action) && (
    some(action.paths, "secret" in @.places)
    || some(action.paths, "above-home" in @.places)
       && some(action.commands, @.program in ["cat", "tar", "zip", "cp", "rsync", "scp", "grep", "rg", "egrep", "curl", "wget", "base64", "xxd", "7z"])
    || some(action.commands, @.program in ["security", "secret-tool", "pass", "op", "ssh-add", "vault", "doppler", "sops"]
         || @.program in ["kubectl", "oc", "aws", "gcloud", "az"]
            && some(@.operands, @ in ["secret", "secrets", "secretsmanager", "keyvault"] || starts_with(@, "secret/") || starts_with(@, "secrets/")))
  )
`,
  },
  {
    id: 'only-these-hosts',
    summary: 'Requests go to the hosts that you list, and nowhere else',
    text: `// Put your hosts into the list. git push has the host of its remote. What a host name resolves to no policy sees.
deny "only-these-hosts" high unknown escalate
name "Known hosts only"
when
  has(action)
  && some(action.hosts, !host_in(@, ["github.com", "*.github.com", "registry.npmjs.org", "localhost", "127.0.0.1"]))
`,
  },
  {
    id: 'no-force-push',
    summary: 'No git push overwrites or deletes branches',
    text: `// Also with +branch, :branch and abbreviated options.
deny "no-force-push" high unknown escalate
name "No push that deletes or overwrites history"
when
  has(action) && (
    some(action.commands, @.program in ["git", "hub"] && @.verb in ["push", "send-pack"]
      && (some(@.flags, @ in ["-f", "--mirror", "-d", "--prune"] || starts_with(@, "--for") || starts_with(@, "--del") || starts_with(@, "--mir"))
          || some(@.operands, starts_with(@, "+") || starts_with(@, ":"))))
    || some(action.code, @ in ["git -c runs a program", "git config runs a program", "git config forces pushes"])
  )
`,
  },
  {
    id: 'ask-before-code',
    summary:
      'A person decides before code runs that nobody reads: inline code, packages, scripts from elsewhere, other users',
    text: `// Builds and scripts of the workspace run. What they do no policy reads. Add the packages that run without a question.
escalate "ask-before-code" high
name "A person looks at code that nobody reads"
when
  has(action) && (
    some(action.code, !starts_with(@, "build ") && !starts_with(@, "script ")
        && !(@ in ["package tsc", "package eslint", "package prettier", "package vitest", "package jest", "package playwright"])
      || starts_with(@, "script /") || starts_with(@, "script ~"))
    || some(action.paths, @.access != "read" && "autorun" in @.places)
    || action.kind == "skill"
    || some(action.commands, @.program in ["sudo", "doas", "su"])
  )
`,
  },
  {
    id: 'ask-about-unknown-tools',
    summary: 'A person decides about tools that gov does not know, terminals and interpreters',
    text: `// gov knows the tools of Claude Code, Codex, Gemini CLI, OpenCode and Cursor. MCP tools, and calls of other programs, are no unknown tools.
escalate "ask-about-unknown-tools" medium
name "A person looks at calls that gov cannot read"
when
  has(action) && action.kind in ["unknown", "terminal", "code"]
`,
  },
  {
    id: 'write-in-workspace',
    summary: 'Only files of the workspace and temporary files are written',
    text: `// A command that does not say what it writes is asked about.
deny "write-in-workspace" high unknown escalate
name "Only the workspace and temporary files change"
when
  has(action)
  && some(action.paths, @.access in ["write", "delete"] && !("workspace" in @.places) && !("temp" in @.places))
`,
  },
  {
    id: 'ask-before-deploy',
    summary: 'A person decides before anything is deployed or published',
    text: `// Change the programs and the words of MCP tools to yours.
escalate "ask-before-deploy" high
name "A person looks before a deployment"
when
  has(action) && (
    some(action.commands, @.program in ["kubectl", "helm", "terraform", "tofu", "pulumi", "ansible-playbook", "vercel", "netlify", "flyctl", "fly", "heroku", "wrangler", "serverless", "cdk", "twine"]
         && !(@.verb in ["get", "describe", "plan", "version", "logs", "list", "ls", "status", "config", "template", "lint", "show", "validate", "fmt", "top"])
         && none(@.operands, @ == "status")
      || @.program in ["npm", "pnpm", "yarn", "bun", "cargo", "gem", "poetry", "uv"]
         && some(@.operands, @ in ["publish", "unpublish", "push", "deprecate", "dist-tag", "owner", "access"])
      || @.program == "docker" && @.verb == "push"
      || @.program in ["gh", "glab"] && (@.verb in ["release", "workflow", "secret", "variable", "ssh-key"]
           || @.verb == "pr" && some(@.operands, @ == "merge")
           || @.verb == "repo" && some(@.operands, @ in ["delete", "edit", "archive", "rename"])
           || @.verb == "api" && some(@.flags, @ in ["-X", "--method", "-f", "-F", "--field", "--raw-field", "--input"]))
      || @.program in ["aws", "gcloud", "az"]
         && none(@.operands, @ in ["ls", "list", "show", "describe", "get", "help", "configure", "version"]
              || starts_with(@, "describe-") || starts_with(@, "list-") || starts_with(@, "get-")))
    || action.kind == "mcp" && action.mcp.verb in ["deploy", "publish", "release", "promote", "rollout"]
  )
`,
  },
  {
    id: 'ask-before-losing-work',
    summary: 'A person decides before work is lost that exists nowhere else: changes, history, tables',
    text: `// In the workspace, where other starters let files change.
escalate "ask-before-losing-work" medium
name "A person looks before work is lost"
when
  has(action) && (
    some(action.commands, @.program == "git" && (
         @.verb in ["filter-branch", "filter-repo", "update-ref"]
      || @.verb == "reset" && some(@.flags, starts_with(@, "--h"))
      || @.verb in ["clean", "checkout", "switch", "worktree"] && some(@.flags, @ in ["-f", "--force", "--discard-changes"])
      || @.verb == "checkout" && some(@.args, @ in ["--", "."])
      || @.verb == "restore" && none(@.flags, @ in ["-S", "--staged"])
      || @.verb == "stash" && some(@.operands, @ in ["drop", "clear"])
      || @.verb == "reflog" && some(@.operands, @ in ["expire", "delete"])
      || @.verb == "gc" && some(@.flags, @ == "--prune")))
    || some(action.commands, @.program in ["psql", "mysql", "mariadb", "sqlite3", "sqlcmd"]
         && some(@.args, "drop " in fold(@) || "truncate " in fold(@) || "delete from " in fold(@)))
    || some(action.commands, @.program == "dropdb")
    || some(action.paths, @.access == "delete" && ends_with(@.path, "/.git"))
  )
`,
  },
  {
    id: 'spending-limit',
    summary: 'Payments above 1,000, below 0, and in other currencies, are denied',
    text: `// Of MCP tools, and of programs that ask before they pay. An amount that cannot be read is denied, too.
deny "spending-limit" high
name "No payment above 1,000"
when
  has(action.money)
  && (action.money.amount > 1000 || action.money.amount < 0 || !(action.money.currency in ["EUR", "USD", "CHF"]))
`,
  },
];
