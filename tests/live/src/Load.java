// SPDX-License-Identifier: Apache-2.0
import java.util.*;
import java.util.regex.Pattern;
import java.util.stream.*;

/** A load for OpenJDK: collections, streams, strings, exceptions, threads. Runs until killed. */
public class Load {
	static long sink;

	static int fib(int n) {
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	static void thrower(int depth) {
		if (depth == 0)
			throw new IllegalStateException("bottom");
		thrower(depth - 1);
	}

	static void work() {
		sink += fib(20);
		Map<String, List<Integer>> index = new TreeMap<>();
		for (int i = 0; i < 2000; i++)
			index.computeIfAbsent("key" + i % 97, k -> new ArrayList<>()).add(i);
		sink += index.values().stream().flatMap(List::stream).mapToInt(x -> x).sum();
		String text = IntStream.range(0, 500).mapToObj(i -> "w" + i).collect(Collectors.joining(","));
		sink += Pattern.compile("w(\\d+),").matcher(text).replaceAll("$1;").length();
		for (int i = 0; i < 20; i++) {
			try {
				thrower(30);
			} catch (IllegalStateException e) {
				sink += e.getStackTrace().length;
			}
		}
		sink += System.nanoTime() & 1;
	}

	public static void main(String[] args) {
		new Thread(() -> {
			while (true)
				work();
		}).start();
		while (true)
			work();
	}
}
