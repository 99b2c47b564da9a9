/**
 * Completion scripts. Each one asks `gov __complete WORD…` (`complete.ts`) at Tab, with the words up to the cursor, so that
 * a script knows no command and stays right after an update.
 * Tested by `test/cli/completion/scripts.long.test.ts`, which runs the scripts in their shells.
 */

/** bash splits words at `=` and `:` and replaces only the part after the last one. It shows no descriptions. */
const bash = `# bash completion for gov: source <(gov completion bash)
_gov() {
  local words=() word rest at=-1 glued= i current head=
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $at -ge 0 && ( -n $glued || $word == [=:]* ) ]]; then
      words[at]+=$word
    else
      words[++at]=$word
    fi
    [[ $word == *[=:] ]] && glued=1 || glued=
  done
  current=\${words[at]}
  [[ $current == *[=:]* ]] && head=\${current%"\${current##*[=:]}"}
  COMPREPLY=()
  while IFS=$'\\t' read -r word rest; do
    case $word in
      :files) compopt -o default 2>/dev/null ;;
      :folders) compopt -o plusdirs 2>/dev/null ;;
      *) COMPREPLY+=("\${word#"$head"}") ;;
    esac
  done < <(gov __complete "\${words[@]}" 2>/dev/null </dev/null)
}
complete -F _gov gov`;

const zsh = `#compdef gov
# zsh completion for gov: source <(gov completion zsh)
_gov() {
  local line paths
  local -a offered
  for line in "\${(@f)$(gov __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null </dev/null)}"; do
    case $line in
      '') ;;
      :files) paths=_files ;;
      :folders) paths='_files -/' ;;
      *$'\\t'*) offered+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
      *) offered+=("\${line//:/\\\\:}") ;;
    esac
  done
  (( \${#offered} )) && _describe -V gov offered
  [[ -n $paths ]] && \${=paths}
}
if [[ \${funcstack[1]} == _gov ]]; then _gov "$@"; else compdef _gov gov; fi`;

const fish = `# fish completion for gov: gov completion fish | source
function __gov_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -e words[1]
  for line in (gov __complete $words "$current" 2>/dev/null </dev/null)
    switch $line
      case :files
        __fish_complete_path "$current"
      case :folders
        __fish_complete_directories "$current"
      case '*'
        printf '%s\\n' $line
    end
  end
end
complete -c gov -f -k -a '(__gov_complete)'`;

/** An empty word becomes two quotes, because PowerShell before 7.3 drops empty arguments. */
const powershell = `# PowerShell completion for gov: gov completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName gov -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text })
  $current = if ($wordToComplete) { $wordToComplete } else { "''" }
  gov __complete @words $current 2>$null | ForEach-Object {
    $word, $description = $_ -split "\`t", 2
    if ($word.StartsWith(':')) {
      [System.Management.Automation.CompletionCompleters]::CompleteFilename($wordToComplete)
    } else {
      if (-not $description) { $description = $word }
      [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $description)
    }
  }
}`;

export const completionScripts: Readonly<Record<string, string>> = { bash, zsh, fish, powershell };
