class Ostler < Formula
  desc "Coding agent for the terminal"
  homepage "https://example.invalid/ostler"
  version "@VERSION@"
  license "MIT"

  releases = "https://example.invalid/ostler/releases/download/v@VERSION@"

  on_macos do
    on_arm do
      url "#{releases}/ostler-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@MAC_ARM64@"
    end
    on_intel do
      url "#{releases}/ostler-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@MAC_X64@"
    end
  end

  on_linux do
    on_arm do
      url "#{releases}/ostler-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@LINUX_ARM64@"
    end
    on_intel do
      url "#{releases}/ostler-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@LINUX_X64@"
    end
  end

  def install
    bin.install "ostler"
    bin.install "ostler-host" if File.exist?("ostler-host")
    man1.install "share/man/man1/ostler.1"
    bash_completion.install "share/completions/ostler.bash" => "ostler"
    zsh_completion.install "share/completions/_ostler"
    fish_completion.install "share/completions/ostler.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ostler --version")
  end
end
