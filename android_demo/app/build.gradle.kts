plugins {
    alias(libs.plugins.android.application)
    alias(libs.plugins.kotlin.android)
}

android {
    namespace = "org.tfdistil.demo"
    compileSdk = libs.versions.compileSdk.get().toInt()

    defaultConfig {
        applicationId = "org.tfdistil.demo"
        minSdk = libs.versions.minSdk.get().toInt()
        targetSdk = libs.versions.targetSdk.get().toInt()
        versionCode = 1
        versionName = "0.1.0"
        ndk {
            abiFilters += listOf("arm64-v8a", "x86_64")
        }
    }

    // The models that make_models.sh trains, stored as they are, so that they can be mapped.
    sourceSets["main"].assets.srcDir("../models")
    androidResources {
        noCompress += "tflite"
    }

    // Its tests need the Maven build.
    sourceSets["test"].kotlin.setSrcDirs(emptyList<String>())

    // Stored libraries at 16 KB borders: LiteRT's are built for such pages, and need no unpacking.
    packaging {
        jniLibs {
            useLegacyPackaging = false
        }
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
}

kotlin {
    compilerOptions {
        jvmTarget = org.jetbrains.kotlin.gradle.dsl.JvmTarget.JVM_1_8
    }
}

dependencies {
    implementation(project(":nlp"))
    implementation(libs.litert)
}
